import { t } from 'elysia'
import {
  closedObject,
  nullable,
  openEnum,
  text,
  time,
} from '../../platform/http/replies/envelope.ts'

const document = (description: string, example: object = { theme: 'dark', favorites: ['a1'] }) =>
  t.Record(t.String(), t.Unknown(), {
    error: 'must be an object',
    description,
    examples: [example],
  })

const version = (description: string) => text(description, 'RBNvo1WzZ4oRRq0W9-hknp')

export const DataBody = document('the whole document: any JSON object of at most 64 KiB')

export const DataPatch = document(
  'a merge patch (RFC 7396): absent members stay, `null` removes a member, arrays are replaced',
  { theme: 'light', favorites: null },
)

export const DataQuery = t.Object({
  version: t.Optional(
    text(
      'the `version` that the change is based on, instead of `If-Match`; the server answers 412 if the document has changed since',
      'RBNvo1WzZ4oRRq0W9-hknp',
      { maxLength: 100 },
    ),
  ),
})

export const DataReply = closedObject(
  {
    data: document('the document that the app writes; empty until the first change'),
    version: version(
      'changes with `data`: send it to change only the document that was read; the part of the `ETag` before the dot',
    ),
    updatedAt: nullable(time('when `data` was last changed; null if it never was')),
    serverData: document('the document that servers write; the app can only read it', {
      score: 12,
    }),
    serverVersion: version('changes with `serverData`'),
  },
  'UserData',
  'the documents of the app and its servers for the signed-in user',
)

export const ServerDataReply = closedObject(
  {
    serverData: document('the document that servers write', { score: 12 }),
    version: version('changes with the document; also its `ETag`'),
    updatedAt: nullable(time('when it was last changed; null if it never was')),
  },
  'ServerData',
  'the document that servers store for a user',
)

export const dataExport = {
  data: t.Array(
    closedObject(
      {
        author: openEnum(['app', 'server'], { description: 'who writes the document' }),
        content: document('the document'),
        updatedAt: time('when it was last changed'),
      },
      'ExportedDocument',
      'a JSON document that the app or a server stores for the user',
    ),
    { description: 'the documents that the app and its servers store for the user' },
  ),
}

export const serverDataTags = { Data: 'documents that servers store for users' }
export const dataTags = { Data: 'The app’s own data about the signed-in user' }
