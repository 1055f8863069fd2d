// drizzle-kit sees exported tables only: these are all of them.
const { sqliteColumns } = require('../../src/platform/db/sqlite/columns.ts')
const { buildTables } = require('../../src/server/declarations.ts')

module.exports = buildTables(sqliteColumns)
