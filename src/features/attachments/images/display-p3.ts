/** Linear Display P3 to linear sRGB, which has the same white point (CSS Color 4, section 10). */
const MATRIX = [
  [1.2249401762805598, -0.22494017628055996, 0],
  [-0.042056954709688163, 1.0420569547096881, 0],
  [-0.019637554590334432, -0.0786360455506319, 1.0982736001409663],
] as const
/** Linear light is rounded to this many steps; the darkest sRGB values are 1 / 3,295 apart. */
const STEPS = 16_384

/** Converts pixels, 8 bits per channel, from Display P3 to sRGB in place. Clips colours outside sRGB. */
export function convertDisplayP3(pixels: Uint8Array, channels: 3 | 4) {
  const [[rr, rg], [gr, gg], [br, bg, bb]] = MATRIX
  const linear = Float32Array.from({ length: 256 }, (_, value) => decode(value / 255) * STEPS)
  const encoded = Uint8ClampedArray.from(
    { length: STEPS + 1 },
    (_, step) => 255 * encode(step / STEPS),
  )
  for (let at = 0; at < pixels.length; at += channels) {
    const red = linear[pixels[at] as number] as number
    const green = linear[pixels[at + 1] as number] as number
    const blue = linear[pixels[at + 2] as number] as number
    pixels[at] = encoded[clip(rr * red + rg * green)] as number
    pixels[at + 1] = encoded[clip(gr * red + gg * green)] as number
    pixels[at + 2] = encoded[clip(br * red + bg * green + bb * blue)] as number
  }
}

function clip(light: number): number {
  return light <= 0 ? 0 : light >= STEPS ? STEPS : (light + 0.5) | 0
}

/** The transfer function of both spaces (IEC 61966-2-1), for values from 0 to 1. */
function decode(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

function encode(light: number): number {
  return light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055
}
