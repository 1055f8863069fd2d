import type { UserData } from './models.ts'
import type { CallOptions } from './shared-types.ts'

/** A JSON object. */
export type JsonObject = Record<string, unknown>

/** The data that a change is based on. */
export type DataCondition = {
  /** The `version` that was read; without it, the change is always applied. */
  version?: string
}

/** The app's own data about the user. */
export type DataFunctions = {
  /** Returns the documents of the app and its servers. */
  readData: (options?: CallOptions) => Promise<UserData>
  /** Stores `data` as the whole document, of up to 64 KiB as JSON. Throws `precondition_failed`, `payload_too_large`. */
  replaceData: (
    data: JsonObject,
    condition?: DataCondition,
    options?: CallOptions,
  ) => Promise<UserData>
  /** Changes members of the document: absent ones stay, `null` removes one (RFC 7396). Throws `precondition_failed`, `payload_too_large`. */
  patchData: (
    patch: JsonObject,
    condition?: DataCondition,
    options?: CallOptions,
  ) => Promise<UserData>
}
