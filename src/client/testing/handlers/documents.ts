import type { UserData } from '../../models.ts'
import type { JsonObject } from '../../user-data.ts'
import { failure, invalidField } from '../failure.ts'
import type { HandlersFor } from '../operations.ts'
import { iso, type State, type User, type UserReference } from '../state.ts'

const MAX_BYTES = 64 * 1024

/** The documents of the app and its servers. */
export function createDocuments({ find, clock, resolve, recordChange }: State) {
  const handlers: HandlersFor<'readData' | 'replaceData' | 'patchData'> = {
    readData: (_input, { userId }) => read(find(userId)),
    replaceData: (data, { userId, query }) => change(userId, query['version'], data, () => data),
    patchData: (patch, { userId, query }) =>
      change(userId, query['version'], patch, (before) => mergePatch(before, patch)),
  }
  return { handlers, setServerData, exportOf }

  function read({ documents: { app, server } }: User): UserData {
    return {
      data: app.content,
      version: versionOf(app.content),
      updatedAt: iso(app.updatedAt),
      serverData: server.content,
      serverVersion: versionOf(server.content),
    }
  }

  function change(
    userId: string,
    version: string | undefined,
    input: JsonObject,
    edit: (before: JsonObject) => JsonObject,
  ): UserData {
    const user = find(userId)
    if (Array.isArray(input)) throw invalidField('body', 'must be an object')
    const { content } = user.documents.app
    if (version !== undefined && version !== versionOf(content)) {
      throw failure(
        'precondition_failed',
        'The data has changed in the meantime. Load it again, then repeat the change.',
      )
    }
    const edited = edit(content)
    if (new TextEncoder().encode(JSON.stringify(edited)).length > MAX_BYTES) {
      throw failure('payload_too_large', `The data must not exceed ${MAX_BYTES} bytes in total.`)
    }
    store(user, 'app', edited)
    return read(user)
  }

  /** Stores the document that the app's servers write. */
  function setServerData(reference: UserReference, data: JsonObject) {
    store(resolve(reference), 'server', JSON.parse(JSON.stringify(data)))
  }

  function store(user: User, author: 'app' | 'server', content: JsonObject) {
    if (versionOf(content) === versionOf(user.documents[author].content)) return
    user.documents[author] = { content, updatedAt: clock.now }
    recordChange(user.id, 'data')
  }

  function exportOf({ documents }: User) {
    return (['app', 'server'] as const).flatMap((author) => {
      const { content, updatedAt } = documents[author]
      return updatedAt === null
        ? []
        : [{ author, content, updatedAt: new Date(updatedAt).toISOString() }]
    })
  }
}

/** Applies a merge patch (RFC 7396). */
function mergePatch(target: unknown, patch: JsonObject): JsonObject {
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name)
    else merged.set(name, isObject(change) ? mergePatch(merged.get(name), change) : change)
  }
  return Object.fromEntries(merged)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Equal content has equal versions. */
function versionOf(content: JsonObject): string {
  let [left, right] = [0xdeadbeef, 0x41c6ce57]
  for (const character of JSON.stringify(content)) {
    const code = character.codePointAt(0) ?? 0
    left = Math.imul(left ^ code, 2654435761)
    right = Math.imul(right ^ code, 1597334677)
  }
  return `v${(left >>> 0).toString(36)}${(right >>> 0).toString(36)}`
}
