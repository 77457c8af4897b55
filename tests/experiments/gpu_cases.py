"""Output of ptxas, cuobjdump and XLA for small kernels, recorded for tests."""

import jax
import pytest

from experiments.gpu import sass, toolchain

# Without JAX_PLATFORMS=cpu the plugin looks for a driver and fails without one.
needs_compiler = pytest.mark.skipif(
    not toolchain.available() or jax.config.jax_platforms != "cpu",
    reason=f"needs {toolchain.INSTALL} and JAX_PLATFORMS=cpu",
)

USAGE = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'square' for 'sm_80'
ptxas info    : Function properties for square
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers, 2048 bytes smem, 368 bytes cmem[0]
ptxas info    : Compile time = 13.478 ms
"""

# max(x * x, 0.5) for two rows of a column in each pass.
SASS = """\
	code for sm_80
		Function : square
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        /*0000*/                   MOV R1, c[0x0][0x28] ;       /* 0x00000a0000017a02 */
                                                                /* 0x000fe40000000f00 */
        /*0010*/                   S2R R3, SR_CTAID.X ;
        /*0020*/                   HFMA2.MMA R0, -RZ, RZ, 0, 0 ;
        /*0030*/                   IMAD.WIDE R6, R5, R2, c[0x0][0x160] ;
        /*0040*/                   LDG.E R6, [R6.64] ;
        /*0050*/                   LDG.E R8, [R6.64+0x400] ;
        /*0060*/                   FMUL R4, R6, R6 ;
        /*0070*/                   FMUL R5, R8, R8 ;
        /*0080*/                   FMNMX R4, R4, 0.5, !PT ;
        /*0090*/                   FMNMX R5, R5, 0.5, !PT ;
        /*00a0*/                   STG.E [R6.64], R4 ;
        /*00b0*/                   STG.E [R6.64+0x400], R5 ;
        /*00c0*/                   ISETP.NE.U32.AND P0, PT, R0, 0x10000, PT ;
        /*00d0*/               @P0 BRA 0x30 ;
        /*00e0*/              @!P1 EXIT ;
        /*00f0*/                   FADD R4, R4, R5 ;
        /*0100*/                   EXIT ;
        /*0110*/                   BRA 0x110;
        /*0120*/                   NOP;
"""

HLO = """\
HloModule jit_step, is_scheduled=true

%fused_slice (p0: f32[10,64,4], p1: s32[]) -> f32[64,4] {
  %p0 = f32[10,64,4]{2,1,0} parameter(0)
  %p1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  %row = f32[1,64,4]{2,1,0} dynamic-slice(%p0, %p1, %zero, %zero), sizes={1,64,4}
  ROOT %flat = f32[64,4]{1,0} bitcast(%row)
}

%fused_update (p0: f32[10,64,4], p1: f32[1,64,4], p2: s32[]) -> f32[10,64,4] {
  %p0 = f32[10,64,4]{2,1,0} parameter(0)
  %p1 = f32[1,64,4]{2,1,0} parameter(1)
  %p2 = s32[] parameter(2)
  ROOT %updated = f32[10,64,4]{2,1,0} dynamic-update-slice(%p0, %p1, %p2)
}

%body (state: (s32[], f32[10,64,4])) -> (s32[], f32[10,64,4]) {
  %state = (s32[], f32[10,64,4]{2,1,0}) parameter(0)
  %i = s32[] get-tuple-element(%state), index=0
  %xs = f32[10,64,4]{2,1,0} get-tuple-element(%state), index=1
  %one = f32[64,4]{1,0} fusion(%xs, %i), kind=kLoop, calls=%fused_slice
  %again = f32[1,64,4]{2,1,0} bitcast(%one)
  %new = f32[10,64,4]{2,1,0} fusion(%xs, %again, %i), kind=kLoop, calls=%fused_update
  ROOT %out = (s32[], f32[10,64,4]{2,1,0}) tuple(%i, %new)
}

ENTRY %main (x: bf16[8,4], xs: f32[10,64,4]) -> (f32[8,4], f32[10,64,4]) {
  %x = bf16[8,4]{1,0} parameter(0)
  %xs.1 = f32[10,64,4]{2,1,0} parameter(1)
  %start = s32[] constant(0)
  %pair = (s32[], f32[10,64,4]{2,1,0}) tuple(%start, %xs.1)
  %loop = (s32[], f32[10,64,4]{2,1,0}) while(%pair), condition=%cond, body=%body, \
backend_config={"known_trip_count":{"n":"10"}}
  %ys = f32[10,64,4]{2,1,0} get-tuple-element(%loop), index=1
  %call = f32[8,4]{1,0} custom-call(%x), custom_call_target="__gpu$xla.gpu.triton", \
backend_config={ir = "ML)(\\EF", name = "square", num_warps = 4 : i32}
  ROOT %both = (f32[8,4]{1,0}, f32[10,64,4]{2,1,0}) tuple(%call, %ys)
}
"""


def analysed() -> sass.Report:
    [instructions] = sass.parse_sass(SASS).values()
    return sass.report("square", sass.parse_usage(USAGE)["square"], instructions)
