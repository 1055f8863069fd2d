import { dataCommand } from './command.ts'

export const init = dataCommand({
  name: 'init',
  summary: 'Make the data directory: database, first content and secrets',
  work: async ({ config }) => ({ dataDir: config.dataDir }),
  print: ({ dataDir }) => `${dataDir} is ready.`,
})
