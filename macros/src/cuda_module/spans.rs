//! Spans that make the compiler point at the user's code when generated code does not compile.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};

/// The same tokens with the span `span`.
pub(super) fn at(span: Span, tokens: &impl ToTokens) -> TokenStream {
    let place = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.to_token_stream().into_iter().map(place).collect()
}

/// The first and the last span of some tokens: joining spans is not stable yet.
pub(super) fn ends(tokens: &impl ToTokens) -> (Span, Span) {
    let mut ends = None;
    for token in tokens.to_token_stream() {
        let (first, last) = match &token {
            // Around a variable of `macro_rules!`: itself it is nowhere.
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => self::ends(&group.stream()),
            TokenTree::Group(group) => (group.span_open(), group.span_close()),
            token => (token.span(), token.span()),
        };
        ends = Some((ends.map_or(first, |(start, _)| start), last));
    }
    ends.unwrap_or_else(|| (Span::call_site(), Span::call_site()))
}

/// `function::<ty>(arguments)`, placed between two spans.
pub(super) fn call(
    function: &TokenStream,
    ty: &impl ToTokens,
    (first, last): (Span, Span),
    arguments: TokenStream,
) -> TokenStream {
    // Every token: one from elsewhere, and the compiler points at the whole attribute.
    let (function, open, close) = (at(first, function), at(first, &quote!(::<)), at(last, &quote!(>)));
    let mut group = Group::new(Delimiter::Parenthesis, arguments);
    group.set_span(last);
    quote!(#function #open #ty #close #group)
}
