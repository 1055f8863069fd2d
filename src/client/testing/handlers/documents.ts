import { AppError, invalidField } from '../../../lib/errors.ts'
import { mergePatch } from '../../../lib/text/json.ts'
import type { UserData } from '../../models.ts'
import type { JsonObject } from '../../user-data.ts'
import type { Handlers } from '../handler-types.ts'
import type { FakeRequest } from '../requests.ts'
import { type State, toIso, type User } from '../state.ts'
import type { UserReference } from '../types.ts'

const MAX_BYTES = 64 * 1024

export function createDocuments({ find, clock, resolve, recordChange }: State) {
  const handlers = {
    readData: (_input, { userId }) => read(find(userId)),
    replaceData: (data, request) => change(request, data, () => data),
    patchData: (patch, request) => change(request, patch, (before) => mergePatch(before, patch)),
  } satisfies Partial<Handlers>
  return { handlers, setServerData }

  function read({ documents: { app, server } }: User): UserData {
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
    const { content } = user.documents.app
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
    if (computeVersion(content) === computeVersion(user.documents[author].content)) return
    user.documents[author] = { content, updatedAt: clock.now }
    recordChange(user.id, 'data')
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
