#define SHIFT(i) (1 << (i))
