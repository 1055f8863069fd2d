import type { Decoded, Fault, Handle, Libheif } from 'libheif-js/libheif-wasm/libheif.js'
import { convertDisplayP3 } from './display-p3.ts'

/** Upright pixels, 8 bits per channel, in the decoder's memory. Dispose of them before decoding the next image. */
export type DecodedHeic = Disposable & {
  data: Uint8Array
  width: number
  height: number
  channels: 3 | 4
}

type IsTooLarge = (width: number, height: number) => boolean

/** Enough for a phone's 48-megapixel image, and a limit for files that declare a false size. */
const MAX_MEMORY_BYTES = 400 * 1024 * 1024
const WASM_PAGE_BYTES = 65_536
/** Larger than the profile of any camera. */
const MAX_PROFILE_BYTES = 64 * 1024

const { grow } = WebAssembly.Memory.prototype
let library: Promise<Libheif> | null = null
let isMemoryRefused = false

/**
 * Decodes the primary image of a HEIC file and applies its rotation, mirroring and cropping. The Exif orientation
 * repeats these and must not be applied again. Throws if the image is `too large` or unreadable.
 */
export async function decodeHeic(file: Uint8Array, isTooLarge: IsTooLarge): Promise<DecodedHeic> {
  library ??= loadLibrary()
  isMemoryRefused = false
  try {
    return decodePrimary(await library, file, isTooLarge)
  } catch (error) {
    // An aborted instance cannot be used again.
    library = null
    throw isMemoryRefused ? new Error('too large') : error
  }
}

function decodePrimary(heif: Libheif, file: Uint8Array, isTooLarge: IsTooLarge): DecodedHeic {
  using resources = new DisposableStack()
  const context = resources.adopt(heif.heif_context_alloc(), heif.heif_context_free)
  heif.heif_context_read_from_memory(context, file)
  const primary = unwrap(heif.heif_js_context_get_primary_image_handle(context))
  const handle = resources.adopt(primary, heif.heif_image_handle_release)
  const width = heif.heif_image_handle_get_width(handle)
  const height = heif.heif_image_handle_get_height(handle)
  if (isTooLarge(width, height)) throw new Error('too large')
  const channels = heif.heif_image_handle_has_alpha_channel(handle) ? 4 : 3
  const { heif_chroma_interleaved_RGB: rgb, heif_chroma_interleaved_RGBA: rgba } = heif.heif_chroma
  const space = heif.heif_colorspace.heif_colorspace_RGB
  // Read the profile before decoding: allocating memory for it may move the decoded pixels.
  const isDisplayP3 = hasDisplayP3(heif, handle)
  const decoded = unwrap(heif.heif_js_decode_image2(handle, space, channels === 4 ? rgba : rgb))
  resources.adopt(decoded.image, heif.heif_image_release)
  const data = withoutPadding(decoded, width * channels, height)
  if (isDisplayP3) convertDisplayP3(data, channels)
  const kept = resources.move()
  return { data, width, height, channels, [Symbol.dispose]: () => kept.dispose() }
}

async function loadLibrary(): Promise<Libheif> {
  limitMemory()
  const { default: create } = await import('libheif-js/libheif-wasm/libheif.js')
  const { default: path } = await import('libheif-js/libheif-wasm/libheif.wasm', {
    with: { type: 'file' },
  })
  const wasmBinary = await Bun.file(path).arrayBuffer()
  const heif = create({ wasmBinary, print() {}, printErr() {} })
  await heif.ready
  return heif
}

/** The library grows its memory up to 2 GiB and has no option to limit it. */
function limitMemory() {
  WebAssembly.Memory.prototype.grow = function (pages) {
    isMemoryRefused = this.buffer.byteLength + pages * WASM_PAGE_BYTES > MAX_MEMORY_BYTES
    if (isMemoryRefused) throw new RangeError('too large')
    return grow.call(this, pages)
  }
}

function unwrap<T extends object>(value: T | Fault): T {
  if ('code' in value) throw new Error('the HEIC file cannot be decoded')
  return value
}

/** Removes the padding of rows, in place. */
function withoutPadding({ channels }: Decoded, rowBytes: number, height: number): Uint8Array {
  const [plane] = channels
  const { data, stride } = plane ?? { data: new Uint8Array(), stride: 0 }
  if (stride < rowBytes || data.length < stride * (height - 1) + rowBytes)
    throw new Error('the HEIC file declares a false size')
  for (let row = 1; stride > rowBytes && row < height; row++) {
    data.copyWithin(row * rowBytes, row * stride, row * stride + rowBytes)
  }
  return data.subarray(0, rowBytes * height)
}

/** Whether the embedded ICC profile is Display P3, as on Apple phones. */
function hasDisplayP3(heif: Libheif, { $$: { ptr } }: Handle): boolean {
  const size = heif._heif_image_handle_get_raw_color_profile_size(ptr)
  if (size === 0 || size > MAX_PROFILE_BYTES) return false
  // An error struct takes 12 bytes: two numbers and a pointer.
  const error = heif._malloc(size + 16)
  heif._heif_image_handle_get_raw_color_profile(error, ptr, error + 16)
  const profile = Buffer.from(heif.HEAPU8.slice(error + 16, error + 16 + size))
  heif._free(error)
  // The profile's text may use one or two bytes per character.
  return profile.toString('latin1').replaceAll('\0', '').includes('Display P3')
}
