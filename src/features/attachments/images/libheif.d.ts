/** The parts of libheif that we use, compiled to WebAssembly by Emscripten. */
declare module 'libheif-js/libheif-wasm/libheif.js' {
  export type Pointer = { $$: { ptr: number } }
  export type Decoded = { image: Pointer; channels: { data: Uint8Array; stride: number }[] }
  export type HeifError = { code: unknown }
  type CFunction =
    | '_malloc'
    | '_free'
    | '_heif_image_handle_get_raw_color_profile_size'
    | '_heif_image_handle_get_raw_color_profile'
    | '_heif_image_handle_get_nclx_color_profile'
    | '_heif_nclx_color_profile_free'
    | '_heif_item_get_item_data'
    | '_heif_release_item_data'
    | '_heif_image_get_decoding_warnings'

  /**
   * A C function whose result is an error struct writes the struct to the address in its first argument. Pointers are
   * numbers.
   */
  export type Libheif = Record<CFunction, (...values: number[]) => number> & {
    ready: Promise<unknown>
    HEAPU8: Uint8Array<ArrayBuffer>
    heif_colorspace: { heif_colorspace_RGB: unknown }
    heif_chroma: { heif_chroma_interleaved_RGB: unknown; heif_chroma_interleaved_RGBA: unknown }
    heif_context_alloc: () => Pointer
    heif_context_free: (context: Pointer) => void
    heif_context_read_from_memory: (context: Pointer, file: Uint8Array) => unknown
    heif_context_get_list_of_item_IDs: (context: Pointer) => number[]
    heif_item_get_item_type: (context: Pointer, item: number) => string
    heif_js_context_get_primary_image_handle: (context: Pointer) => Pointer | HeifError
    heif_image_handle_get_width: (handle: Pointer) => number
    heif_image_handle_get_height: (handle: Pointer) => number
    heif_image_handle_has_alpha_channel: (handle: Pointer) => number
    heif_js_decode_image2: (handle: Pointer, space: unknown, chroma: unknown) => Decoded | HeifError
    heif_image_release: (image: Pointer) => void
    heif_image_handle_release: (handle: Pointer) => void
  }

  export default function create(options: {
    wasmBinary: ArrayBuffer
    print(): void
    printErr(): void
  }): Libheif
}

declare module 'libheif-js/libheif-wasm/libheif.wasm' {
  const path: string
  export default path
}
