/** The parts of libheif that we use. Emscripten has compiled it to WebAssembly. */
declare module 'libheif-js/libheif-wasm/libheif.js' {
  export type Handle = { $$: { ptr: number } }
  export type Decoded = { image: unknown; channels: { data: Uint8Array; stride: number }[] }
  export type Fault = { code: unknown }

  export type Libheif = {
    ready: Promise<unknown>
    HEAPU8: Uint8Array
    _malloc: (bytes: number) => number
    _free: (pointer: number) => void
    _heif_image_handle_get_raw_color_profile_size: (handle: number) => number
    _heif_image_handle_get_raw_color_profile: (error: number, handle: number, out: number) => void
    heif_colorspace: { heif_colorspace_RGB: unknown }
    heif_chroma: { heif_chroma_interleaved_RGB: unknown; heif_chroma_interleaved_RGBA: unknown }
    heif_context_alloc: () => unknown
    heif_context_free: (context: unknown) => void
    heif_context_read_from_memory: (context: unknown, file: Uint8Array) => unknown
    heif_js_context_get_primary_image_handle: (context: unknown) => Handle | Fault
    heif_image_handle_get_width: (handle: Handle) => number
    heif_image_handle_get_height: (handle: Handle) => number
    heif_image_handle_has_alpha_channel: (handle: Handle) => number
    heif_image_handle_release: (handle: Handle) => void
    heif_js_decode_image2: (handle: Handle, space: unknown, chroma: unknown) => Decoded | Fault
    heif_image_release: (image: unknown) => void
  }

  export default function create(options: {
    wasmBinary: ArrayBuffer
    print(): void
    printErr(): void
  }): Libheif
}

declare module 'libheif-js/libheif-wasm/libheif.wasm' {
  /** The path of the file. */
  const path: string
  export default path
}
