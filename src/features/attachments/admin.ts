import { Elysia, t } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import { readSlices } from '../../platform/lists/csv.ts'
import type { Listing } from './listing.ts'
import type { Attachments } from './service.ts'
import type { FileUsage } from './usage.ts'

type AttachmentsAdminDeps = {
  attachments: Attachments
  listing: Listing
  fileUsage: FileUsage
} & Pick<ConsoleContext, 'record' | 'baseUrlOf' | 'exportCsv' | 'namesOf'>

const PAGE_SIZE = 50
const UserParam = closedObject({ id: t.String({ maxLength: 100 }) })
const FileParams = closedObject({
  id: t.String({ maxLength: 100 }),
  key: t.String({ maxLength: 40 }),
})

/** Users' files, and the users who store the most. */
export function attachmentsAdmin(deps: AttachmentsAdminDeps) {
  const { attachments, listing, fileUsage, baseUrlOf, record, exportCsv, namesOf } = deps
  return new Elysia({ name: 'attachments-admin', prefix: CONSOLE_API })
    .get('/files', async () => data(await readUsage()), allow('reader'))
    .get(
      '/files/export.csv',
      (context) => {
        const read = async () => {
          const { largest = [], names = {} } = (await readUsage()) ?? {}
          return largest.map((user) => ({ ...user, name: names[user.userId] }))
        }
        const list = { name: 'storage', isPersonal: true, columns: STORAGE_COLUMNS, read }
        return exportCsv(context, list)
      },
      allow('operator', 'stepUp'),
    )
    .get(
      '/people/:id/files/export.csv',
      (context) => {
        const { id } = context.params
        const read = readSlices('records', (page) => listing.page(id, page, ''))
        const list = { name: 'files', isPersonal: true, columns: FILE_COLUMNS, read }
        return exportCsv(context, { ...list, target: id })
      },
      { params: UserParam, ...allow('operator', 'stepUp') },
    )
    .get(
      '/people/:id/files',
      async ({ request, params: { id }, query }) => {
        const page = { limit: PAGE_SIZE, after: query.after }
        const { records, next } = await listing.page(id, page, baseUrlOf(request))
        // A private file is opened only through `/open`, which requires a step-up.
        const listed = records.map((file) =>
          file.expiresAt === null ? file : { ...file, url: null },
        )
        return data({ records: listed, next })
      },
      {
        params: UserParam,
        query: closedObject({ after: t.Optional(t.String({ maxLength: 100 })) }),
        ...allow('reader'),
      },
    )
    .get(
      '/people/:id/files/:key/open',
      async ({ request, params: { id, key }, redirect }) => {
        const { url } = await attachments.describe(id, key, baseUrlOf(request))
        await record(request, { action: 'files.open', target: id, after: { key } })
        return redirect(url, 303)
      },
      { params: FileParams, ...allow('operator', 'stepUp') },
    )

  /** The storage used, with the names of the largest users. */
  async function readUsage() {
    const used = await fileUsage.read()
    return used && { ...used, names: await namesOf(used.largest.map(({ userId }) => userId)) }
  }
}

type Largest = NonNullable<Awaited<ReturnType<FileUsage['read']>>>['largest'][number]
type File = Awaited<ReturnType<Listing['page']>>['records'][number]

/** The columns of exported lists. */
const STORAGE_COLUMNS: Record<string, (user: Largest & { name: string | undefined }) => unknown> = {
  user_id: ({ userId }) => userId,
  user: ({ name }) => name,
  files: ({ files }) => files,
  bytes: ({ bytes }) => bytes,
}
const FILE_COLUMNS: Record<string, (file: File) => unknown> = {
  key: ({ key }) => key,
  name: ({ fileName }) => fileName,
  type: ({ type }) => type,
  bytes: ({ size }) => size,
  added: ({ createdAt }) => createdAt,
}
