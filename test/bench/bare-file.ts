/** The fastest bare file server: a Bun.serve route that returns a file with the same headers. */
const [port, path = ''] = process.argv.slice(2)

Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  routes: {
    '/file': () =>
      new Response(Bun.file(path), {
        headers: {
          'content-type': 'image/webp',
          'cache-control': 'public, max-age=31536000, immutable',
          etag: '"x"',
          'x-content-type-options': 'nosniff',
        },
      }),
  },
})
console.log('ready')
