import type { ApiError } from './api-error.ts'
import type { UserData } from './models.ts'
import type { CallOptions } from './shared-types.ts'
import { createSlot, type Storage } from './storage.ts'

export const DATA = '/api/user/data/v1'

/** Where this device stores a user's document. */
export function documentSlot(storage: Storage, userId: string | null | undefined) {
  return createSlot(storage, `homeport.data.${userId}`)
}

/** Removes the document of a user who has signed out or deleted the account. */
export async function forgetDocument(storage: Storage, reason: string, userId?: string) {
  if (reason !== 'signed_out' && reason !== 'account_deleted') return
  await documentSlot(storage, userId)
    .clear()
    .catch(() => {})
}

/** A JSON object. */
export type JsonObject = Record<string, unknown>

/** The data that a change is based on. */
export type DataCondition = {
  /** The `version` that was read; without it, the change is always applied. */
  version?: string | undefined
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
  /** Keeps the document on this device too, so that the app can read and change it without a connection. */
  syncData: (options?: DataSyncOptions) => Promise<DataSync>
}

/** Changes that two devices made at the same time. */
export type DataConflict = {
  /** The last document from the server that this device knew. */
  base: JsonObject
  /** `base` with this device's changes. */
  local: JsonObject
  /** The server's document. */
  remote: JsonObject
}

/** The options of `syncData`. */
export type DataSyncOptions = {
  /** Where to keep the document and its changes; the client's `offlineStorage` by default. */
  storage?: Storage | undefined
  /** Returns the document to store after a conflict. By default, this device's changes are applied to the server's document. */
  merge?: ((conflict: DataConflict) => JsonObject) | undefined
}

/** The document on this device. */
export type DataSyncState = {
  /** The document with all changes made on this device. */
  data: JsonObject
  /** Whether the server lacks some of these changes. */
  hasUnsent: boolean
  /** Changes that the server has rejected, and that are lost; null after the next change. */
  dropped: JsonObject | null
  /** Why the last exchange failed, such as `network_error`; null if it did not. */
  error: ApiError | null
}

/** The document of the signed-in user, which works offline. */
export type DataSync = {
  /** The same object until something changes, as React's `useSyncExternalStore` requires. */
  getSnapshot: () => DataSyncState
  /** Calls `listener` after each change. Returns a function that stops it. */
  subscribe: (listener: () => void) => () => void
  /** Applies a merge patch immediately; resolves when it is stored on this device, and sends it when possible. Throws `payload_too_large`, `storage_failed` and `unauthenticated`. */
  change: (patch: JsonObject) => Promise<void>
  /** Syncs now; this also happens automatically after each change and reconnection. Never rejects. */
  sync: () => Promise<void>
  /** Stops syncing. The stored document stays. */
  stop: () => void
}
