import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: './drizzle/tables.cjs',
  out: './drizzle',
  casing: 'snake_case',
})
