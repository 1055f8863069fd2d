import { t } from 'elysia'
import { dataCommand } from '../../lib/command.ts'
import { megabytes } from '../../lib/text/format.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import { after, defineList } from '../../platform/lists/list.ts'
import type { Listing } from './listing.ts'
import type { FileUsage } from './usage.ts'

const PAGE_SIZE = 50

const storage = defineList({
  name: 'storage',
  summary: 'Show the size of attachments by type, and the users who store the most',
  console: 'files',
  query: closedObject({}),
  isPersonal: true,
  read: ({ fileUsage }: { fileUsage: FileUsage }) => fileUsage.read(),
  rows: (used) => used?.largest ?? [],
  userIds: ({ userId }) => [userId],
  show: async (used, _needs, readNames) => used && { ...used, names: await readNames() },
  columns: {
    user_id: ({ userId }) => userId,
    user: ({ userId }, names) => names[userId],
    files: ({ files }) => files,
    bytes: ({ bytes }) => bytes,
  },
  command: null,
})

const files = defineList({
  name: 'files',
  summary: 'List the files of a user',
  console: 'people/:id/files',
  query: closedObject({ id: t.String({ maxLength: 100 }), after }),
  isPersonal: true,
  read: ({ listing }: { listing: Listing }, { id, after, limit = PAGE_SIZE }, { baseUrl }) =>
    listing.page(id, { after, limit }, baseUrl),
  rows: ({ records }) => records,
  // A private file is opened only through `/open`, which requires a step-up.
  show: ({ records, next }) => ({
    records: records.map((file) => (file.expiresAt === null ? file : { ...file, url: null })),
    next,
  }),
  columns: {
    key: ({ key }) => key,
    name: ({ fileName }) => fileName,
    type: ({ type }) => type,
    bytes: ({ size }) => size,
    added: ({ createdAt }) => createdAt,
  },
  command: null,
})

export const attachmentLists = [storage, files]

const filesUsage = dataCommand({
  name: 'files usage',
  summary: 'Show the size of attachments by type, and the users who store the most',
  work: ({ fileUsage }: { fileUsage: FileUsage }) => fileUsage.count(),
  print: ({ types, largest }) =>
    [
      ...types.map(({ type, files, bytes }) => `${type}\t${files} files\t${megabytes(bytes)}`),
      ...largest.map(
        ({ userId, files, bytes }) => `${userId}\t${files} files\t${megabytes(bytes)}`,
      ),
    ].join('\n'),
})

export const attachmentCommands = [filesUsage]
