/** Runs all cases of the tests that otherwise run only a sample. */
process.env['ALL_CASES'] = '1'
await import('./all-sources.test.ts')
await import('./app-store-webhook.test.ts')
await import('./store-flows.test.ts')
await import('./store-model.test.ts')

export {}
