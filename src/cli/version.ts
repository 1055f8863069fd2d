import { readMigrations } from '../platform/db/migrations.ts'
import { BUILD, BUILD_INFO, SHARP_VERSION, VERSION } from '../version.ts'
import { EXIT, type LocalCommand } from './command.ts'

export const version: LocalCommand = {
  name: 'version',
  summary: 'Print the version, its commit and date; with --json also the schema and embedded parts',
  run: async (_config, { json }) => {
    console.log(json ? JSON.stringify(describe()) : BUILD)
    return EXIT.done
  },
}

function describe() {
  const { bun, sqlite, boringssl } = process.versions
  return {
    version: VERSION,
    commit: BUILD_INFO?.commit ?? null,
    date: BUILD_INFO?.date ?? null,
    isReleaseKeyPinned: (BUILD_INFO?.releaseKeys.length ?? 0) > 0,
    bun,
    platform: `${process.platform}-${process.arch}`,
    // How many migrations a database of this program has had.
    schemaVersion: readMigrations('sqlite').length,
    embedded: { bun, sqlite, boringssl, sharp: SHARP_VERSION },
  }
}
