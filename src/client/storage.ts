import { clientError } from './api-error.ts'

/** Stores the session: `localStorage` and AsyncStorage work; a keychain is better. */
export type Storage = {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): void | Promise<void>
  removeItem(key: string): void | Promise<void>
}

/** Keeps items in memory until the app exits. */
export function createMemoryStorage(): Storage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  }
}

/** Falls back to memory: a storage is null in some WebViews, and throws at first use if the user blocks site data. */
export function openStorage(
  configured: Storage | null | undefined,
  fallback = createMemoryStorage(),
): Storage {
  if (configured === undefined) return fallback
  let storage = configured ?? replaceStorage()
  let hasWorked = false
  const attempt = <T>(work: () => T): T => {
    try {
      const result = work()
      hasWorked = true
      return result
    } catch (error) {
      if (hasWorked || (error as Error | null)?.name !== 'SecurityError') throw error
      storage = replaceStorage()
      return work()
    }
  }
  return {
    getItem: (key) => attempt(() => storage.getItem(key)),
    setItem: (key, value) => attempt(() => storage.setItem(key, value)),
    removeItem: (key) => attempt(() => storage.removeItem(key)),
  }
}

function replaceStorage(): Storage {
  console.warn('Homeport: this device has no storage. What it keeps is lost when the app closes.')
  return createMemoryStorage()
}

/** Reads and writes one key of a storage. Throws `storage_failed` if the storage fails. */
export function createSlot(storage: Storage, key: string) {
  return {
    read: () => attempt(() => storage.getItem(key)),
    write: (value: string) => attempt(() => storage.setItem(key, value)),
    clear: () => attempt(() => storage.removeItem(key)),
  }

  async function attempt<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      throw clientError('storage_failed', 'The storage of this device cannot be used.', cause)
    }
  }
}
