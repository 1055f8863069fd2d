/** The parts of libheif that we use. Emscripten has compiled it to WebAssembly. */
declare module 'libheif-js/libheif-wasm/libheif.js' {
  export type Pointer = { $$: { ptr: number } }
  export type Fault = { code: unknown }

  /** The functions with an underscore are those of the C interface: pointers and enums are numbers. */
  export type Libheif = {
    ready: Promise<unknown>
    HEAPU8: Uint8Array<ArrayBuffer>
    _malloc: (bytes: number) => number
    _free: (pointer: number) => void
    _heif_image_handle_get_raw_color_profile_size: (handle: number) => number
    _heif_image_handle_get_raw_color_profile: (error: number, handle: number, out: number) => void
    _heif_image_handle_get_nclx_color_profile: (error: number, handle: number, out: number) => void
    _heif_nclx_color_profile_free: (profile: number) => void
    _heif_item_get_item_data: (
      ...pointers: [error: number, context: number, item: number, 0, data: number, size: number]
    ) => void
    _heif_release_item_data: (context: number, data: number) => void
    _heif_decoding_options_alloc: () => number
    _heif_decoding_options_free: (options: number) => void
    _heif_decode_image: (
      ...pointers: [
        error: number,
        handle: number,
        out: number,
        space: number,
        chroma: number,
        options: number,
      ]
    ) => void
    _heif_image_get_height: (image: number, channel: number) => number
    _heif_image_get_plane_readonly2: (image: number, channel: number, stride: number) => number
    _heif_image_get_decoding_warnings: (image: number, first: 0, out: 0, limit: 0) => number
    _heif_image_release: (image: number) => void
    heif_context_alloc: () => Pointer
    heif_context_free: (context: Pointer) => void
    heif_context_read_from_memory: (context: Pointer, file: Uint8Array) => unknown
    heif_context_get_list_of_item_IDs: (context: Pointer) => number[]
    heif_item_get_item_type: (context: Pointer, item: number) => string
    heif_js_context_get_primary_image_handle: (context: Pointer) => Pointer | Fault
    heif_image_handle_get_width: (handle: Pointer) => number
    heif_image_handle_get_height: (handle: Pointer) => number
    heif_image_handle_has_alpha_channel: (handle: Pointer) => number
    heif_image_handle_release: (handle: Pointer) => void
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
