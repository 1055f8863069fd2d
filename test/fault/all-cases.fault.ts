/** Runs all cases of the tests that otherwise run only a sample. */
process.env['ALL_CASES'] = '1'
await import('../features/attachments/variants.slow.ts')
await import('../features/billing/billing-flows.test.ts')
await import('../features/billing/billing-model.test.ts')
await import('../platform/encryption/sealed-messages.test.ts')
await import('../platform/http/docs.slow.ts')

export {}
