// drizzle-kit sees exported tables only: these are all of them.
const { postgresColumns } = require('../../src/platform/db/postgres/columns.ts')
const { sharedTables } = require('../../src/platform/db/postgres/schema.ts')
const { buildTables } = require('../../src/server/declarations.ts')

module.exports = { ...buildTables(postgresColumns), ...sharedTables() }
