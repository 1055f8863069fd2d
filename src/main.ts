const [command, ...rest] = process.argv.slice(2)

// Each process loads only what it needs: the image worker runs without the server code, and the
// server without sharp.
if (command === 'image-worker') {
  const { runImageWorker } = await import('./cli/processes/image-worker.ts')
  await runImageWorker(rest)
} else if (command === 'check-database') {
  const { runCheckDatabase } = await import('./cli/processes/check-database.ts')
  runCheckDatabase(rest)
} else if (command === 'checkpoint') {
  const { runCheckpoint } = await import('./cli/processes/checkpoint.ts')
  await runCheckpoint(rest)
} else if (command === 'copy-database') {
  const { runCopyDatabase } = await import('./cli/processes/copy-database.ts')
  await runCopyDatabase(rest)
} else {
  const { run } = await import('./cli/run.ts')
  process.exit(await run(process.argv.slice(2)))
}

export {}
