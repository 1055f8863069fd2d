// drizzle-kit sees exported tables only: these are all of them.
const { sqliteColumns } = require('../src/db/sqlite/columns.ts')
const { buildTables } = require('../src/tables.ts')

module.exports = buildTables(sqliteColumns)
