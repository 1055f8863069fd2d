// drizzle-kit sees exported tables only: these are all of them.
const { postgresColumns } = require('../../src/db/postgres/columns.ts')
const { sharedTables } = require('../../src/db/postgres/schema.ts')
const { buildTables } = require('../../src/features.ts')

module.exports = { ...buildTables(postgresColumns), ...sharedTables() }
