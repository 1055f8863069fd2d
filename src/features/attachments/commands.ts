import { dataCommand } from '../../lib/command.ts'
import { megabytes } from '../../lib/text/format-bytes.ts'
import type { Attachments } from './service.ts'
import type { StoreOwner } from './storage/store-owner.ts'
import type { FileUsage } from './usage.ts'

type Needs = {
  attachments: Attachments
  fileUsage: FileUsage
  userIdOf: (email: string) => Promise<string | null>
  storeOwner: StoreOwner
}

const filesUsage = dataCommand({
  name: 'files usage',
  summary: 'Show the size of attachments by type, and the users who store the most',
  work: ({ fileUsage }: Needs) => fileUsage.count(),
  print: ({ types, largest }) =>
    [
      ...types.map(({ type, files, bytes }) => `${type}\t${files} files\t${megabytes(bytes)}`),
      ...largest.map(
        ({ userId, files, bytes }) => `${userId}\t${files} files\t${megabytes(bytes)}`,
      ),
    ].join('\n'),
})

const filesDelete = dataCommand({
  name: 'files delete',
  summary: 'Delete a user’s file by its key',
  arguments: '<id-or-email> <key>',
  input: ([user = '', key = '']) => ({ user, key }),
  risk: async ({ attachments, userIdOf }: Needs, { user, key }) => {
    const userId = (await userIdOf(user)) ?? user
    const { fileName } = await attachments.describe(userId, key, '')
    return `This permanently deletes ${fileName} of ${userId}.`
  },
  work: async ({ attachments, userIdOf }: Needs, { user, key }) => {
    const userId = (await userIdOf(user)) ?? user
    await attachments.remove(userId, key)
    return { deleted: key, userId }
  },
  print: ({ deleted }) => `Deleted ${deleted}.`,
  changes: ({ deleted }) => ({ key: deleted }),
  target: ({ userId }) => userId,
})

const filesClaim = dataCommand({
  name: 'files claim',
  summary:
    'Make the store at FILES_URL that of this database, and delete files without a row there',
  risk: async () =>
    'From now on this server deletes files from its store, and no other does: go on only if no other database names them. Files without a row are kept for 30 more days.',
  work: ({ storeOwner }: Needs) => storeOwner.claim(),
  print: () => 'This database owns its store of files.',
  changes: ({ kind }) => ({ kind }),
  target: () => 'files',
})

export const attachmentCommands = [filesUsage, filesDelete, filesClaim]
