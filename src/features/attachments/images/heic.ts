import type { Decoded, HeifError, Libheif, Pointer } from 'libheif-js/libheif-wasm/libheif.js'
import {
  type ColourSpace,
  convertToSrgb,
  findSpaceByCodePoints,
  readProfileSpace,
} from './colour-space.ts'

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
 * Applies rotation, mirroring and cropping, which the Exif orientation only repeats. Throws `too large`, or another error
 * for an unreadable file.
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
  if (hasBlockOfZeros(heif, context)) throw new Error('the HEIC file is damaged')
  const channels = heif.heif_image_handle_has_alpha_channel(handle) ? 4 : 3
  // Read the colour space before decoding: allocating memory for it may move the decoded pixels.
  const space = readColourSpace(heif, handle)
  const { heif_chroma_interleaved_RGB: rgb, heif_chroma_interleaved_RGBA: rgba } = heif.heif_chroma
  const { heif_colorspace_RGB } = heif.heif_colorspace
  const chroma = channels === 4 ? rgba : rgb
  const decoded = unwrap(heif.heif_js_decode_image2(handle, heif_colorspace_RGB, chroma))
  resources.adopt(decoded.image, heif.heif_image_release)
  // The decoder only warns of missing tiles.
  if (heif._heif_image_get_decoding_warnings(decoded.image.$$.ptr, 0, 0, 0) > 0)
    throw new Error('the HEIC file is damaged')
  const data = withoutPadding(decoded, width * channels, height)
  if (space) convertToSrgb(data, channels, space)
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

function unwrap<T extends object>(value: T | HeifError): T {
  if ('code' in value) throw new Error('the HEIC file cannot be decoded')
  return value
}

/** The decoder mistakes a block of zeros for data. HEVC never has four zero bytes in a row (H.265, 7.4.2). */
function hasBlockOfZeros(heif: Libheif, context: Pointer): boolean {
  using memory = allocate(heif, 20)
  return heif.heif_context_get_list_of_item_IDs(context).some((id) => {
    if (heif.heif_item_get_item_type(context, id) !== 'hvc1') return false
    const out = memory.at + 12
    heif._heif_item_get_item_data(memory.at, context.$$.ptr, id, 0, out, out + 4)
    if (memory.read(0) !== 0) return false
    const data = Buffer.from(heif.HEAPU8.buffer, memory.read(12), memory.read(16))
    const isBlock = data.includes('\0\0\0\0')
    heif._heif_release_item_data(context.$$.ptr, out)
    return isBlock
  })
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

/** An ICC profile takes precedence over code points. */
function readColourSpace(heif: Libheif, { $$: { ptr } }: Pointer): ColourSpace | null {
  const size = heif._heif_image_handle_get_raw_color_profile_size(ptr)
  // An error struct takes 12 bytes: two numbers and a pointer.
  using memory = allocate(heif, Math.min(size, MAX_PROFILE_BYTES) + 16)
  if (size > 0 && size <= MAX_PROFILE_BYTES) {
    heif._heif_image_handle_get_raw_color_profile(memory.at, ptr, memory.at + 16)
    return readProfileSpace(Buffer.from(heif.HEAPU8.slice(memory.at + 16, memory.at + 16 + size)))
  }
  heif._heif_image_handle_get_nclx_color_profile(memory.at, ptr, memory.at + 12)
  if (memory.read(0) !== 0) return null
  const codes = memory.read(12)
  const space = findSpaceByCodePoints(wordAt(heif, codes + 4), wordAt(heif, codes + 8))
  heif._heif_nclx_color_profile_free(codes)
  return space
}

/** The decoder's memory may move whenever it grows. */
function wordAt({ HEAPU8 }: Libheif, at: number): number {
  return new DataView(HEAPU8.buffer).getUint32(at, true)
}

function allocate(heif: Libheif, bytes: number) {
  const at = heif._malloc(bytes)
  const read = (offset: number) => wordAt(heif, at + offset)
  return { at, read, [Symbol.dispose]: () => heif._free(at) }
}
