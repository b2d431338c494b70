; c = a + b, as in examples/kernels/vecadd.cu, in the IR that libNVVM reads. Written by hand.
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"

; Linking LTO IR leaves out what nothing uses, kernels too.
@llvm.used = appending global [1 x i8*] [i8* bitcast (void (float*, i64, float*, i64, float*, i64)* @vecadd to i8*)], section "llvm.metadata"

define void @vecadd(float* %a, i64 %a_len, float* %b, i64 %b_len, float* %c, i64 %c_len) {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block64 = zext i32 %block to i64
  %size64 = zext i32 %size to i64
  %thread64 = zext i32 %thread to i64
  %first = mul i64 %block64, %size64
  %i = add i64 %first, %thread64
  %in_a = icmp ult i64 %i, %a_len
  %in_b = icmp ult i64 %i, %b_len
  %in_c = icmp ult i64 %i, %c_len
  %in_ab = and i1 %in_a, %in_b
  %in_all = and i1 %in_ab, %in_c
  br i1 %in_all, label %add, label %done

add:
  %pa = getelementptr float, float* %a, i64 %i
  %pb = getelementptr float, float* %b, i64 %i
  %pc = getelementptr float, float* %c, i64 %i
  %x = load float, float* %pa
  %y = load float, float* %pb
  %sum = fadd float %x, %y
  store float %sum, float* %pc
  br label %done

done:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() readnone nounwind
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() readnone nounwind
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() readnone nounwind

!nvvm.annotations = !{!0}
!0 = !{void (float*, i64, float*, i64, float*, i64)* @vecadd, !"kernel", i32 1}

!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
