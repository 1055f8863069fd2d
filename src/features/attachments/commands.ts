import { dataCommand } from '../../lib/command.ts'
import { megabytes } from '../../lib/megabytes.ts'
import type { Attachments } from './service.ts'
import type { Usage } from './usage.ts'

type Needs = { attachments: Attachments; usage: Usage }

const filesUsage = dataCommand({
  name: 'files usage',
  summary: 'Show the size of attachments by type, and the users who store the most',
  work: ({ usage }: Needs) => usage.count(),
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
  arguments: '<user-id> <key>',
  input: ([userId = '', key = '']) => ({ userId, key }),
  risk: async ({ attachments }: Needs, { userId, key }) => {
    const { fileName } = await attachments.describe(userId, key, '')
    return `This permanently deletes ${fileName} of ${userId}.`
  },
  work: async ({ attachments }: Needs, { userId, key }) => {
    await attachments.remove(userId, key)
    return { deleted: key }
  },
  print: ({ deleted }) => `Deleted ${deleted}.`,
  changes: ({ deleted }) => ({ key: deleted }),
  target: (_outcome, { userId }) => userId,
})

export const attachmentCommands = [filesUsage, filesDelete]
