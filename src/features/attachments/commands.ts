import { dataCommand } from '../../lib/command.ts'
import { megabytes } from '../../lib/text/format-bytes.ts'
import type { FileUsage } from './usage.ts'

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
