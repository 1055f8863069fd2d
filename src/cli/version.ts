import { readMigrations } from '../db/migrations.ts'
import { SHARP_VERSION, VERSION } from '../version.ts'
import { EXIT, type LocalCommand } from './command.ts'

export const version: LocalCommand = {
  name: 'version',
  summary: 'Print the version; with --json also those of the schema and of what is inside',
  run: async (_config, { json }) => {
    console.log(json ? JSON.stringify(describe()) : VERSION)
    return EXIT.done
  },
}

function describe() {
  const { bun, sqlite, boringssl } = process.versions
  return {
    version: VERSION,
    bun,
    platform: `${process.platform}-${process.arch}`,
    // How many migrations a database of this program has had.
    schemaVersion: readMigrations('sqlite').length,
    embedded: { bun, sqlite, boringssl, sharp: SHARP_VERSION },
  }
}
