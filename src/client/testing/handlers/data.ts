import { AppError, invalidField } from '../../../lib/errors.ts'
import { mergePatch } from '../../../lib/text/merge-patch.ts'
import type { JsonObject } from '../../data.ts'
import type { UserData } from '../../models.ts'
import type { Handlers } from '../handler-types.ts'
import type { FakeRequest } from '../requests.ts'
import { type State, toIso, type User } from '../state.ts'
import type { UserReference } from '../types.ts'

const MAX_BYTES = 64 * 1024

type Document = { content: JsonObject; updatedAt: number | null }
type Documents = { app: Document; server: Document }

const NONE: Document = { content: {}, updatedAt: null }

export function createData({ find, clock, resolve, recordChange, mergers }: State) {
  const stored = new WeakMap<User, Documents>()
  mergers.push(merge)
  const handlers = {
    readData: (_input, { userId }) => read(find(userId)),
    replaceData: (data, request) => change(request, data, () => data),
    patchData: (patch, request) => change(request, patch, (before) => mergePatch(before, patch)),
  } satisfies Partial<Handlers>
  return { handlers, setServerData }

  function documentsOf(user: User): Documents {
    return stored.get(user) ?? { app: NONE, server: NONE }
  }

  function read(user: User): UserData {
    const { app, server } = documentsOf(user)
    return {
      data: app.content,
      version: computeVersion(app.content),
      updatedAt: toIso(app.updatedAt),
      serverData: server.content,
      serverVersion: computeVersion(server.content),
    }
  }

  function change(
    { userId, query }: FakeRequest,
    input: JsonObject,
    edit: (before: JsonObject) => JsonObject,
  ): UserData {
    const user = find(userId)
    if (Array.isArray(input)) throw invalidField('body', 'must be an object')
    const { content } = documentsOf(user).app
    const { version = computeVersion(content) } = query
    if (version !== computeVersion(content)) {
      const message = 'The data has changed in the meantime. Load it again, then repeat the change.'
      throw new AppError('precondition_failed', message)
    }
    const edited = edit(content)
    if (new TextEncoder().encode(JSON.stringify(edited)).length > MAX_BYTES) {
      const message = `The data must not exceed ${MAX_BYTES} bytes in total.`
      throw new AppError('payload_too_large', message)
    }
    store(user, 'app', edited)
    return read(user)
  }

  function setServerData(reference: UserReference, data: JsonObject) {
    store(resolve(reference), 'server', JSON.parse(JSON.stringify(data)))
  }

  function store(user: User, author: 'app' | 'server', content: JsonObject) {
    const documents = documentsOf(user)
    if (computeVersion(content) === computeVersion(documents[author].content)) return
    stored.set(user, { ...documents, [author]: { content, updatedAt: clock.now } })
    recordChange(user.id, 'data')
  }

  function merge(guest: User, user: User) {
    const merged = { ...documentsOf(user) }
    for (const author of ['app', 'server'] as const) {
      const { content, updatedAt } = documentsOf(guest)[author]
      if (updatedAt === null) continue
      merged[author] = { content: { ...content, ...merged[author].content }, updatedAt: clock.now }
    }
    stored.set(user, merged)
  }
}

/** Equal content has equal versions. */
function computeVersion(content: JsonObject): string {
  let [left, right] = [0xdeadbeef, 0x41c6ce57]
  for (const character of JSON.stringify(content)) {
    const code = character.codePointAt(0) ?? 0
    left = Math.imul(left ^ code, 2654435761)
    right = Math.imul(right ^ code, 1597334677)
  }
  return `v${(left >>> 0).toString(36)}${(right >>> 0).toString(36)}`
}
