import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'postgresql',
  schema: './drizzle/postgres/tables.cjs',
  out: './drizzle/postgres',
  casing: 'snake_case',
})
