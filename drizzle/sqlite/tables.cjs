// drizzle-kit sees exported tables only: these are all of them.
const { sqliteColumns } = require('../../src/db/sqlite/columns.ts')
const { buildTables } = require('../../src/features.ts')

module.exports = buildTables(sqliteColumns)
