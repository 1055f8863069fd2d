/** A rates provider on loopback; `reply` creates its responses. */
export function startFeed(reply: (request: Request) => Response | Promise<Response>) {
  const requestHeaders: Headers[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      requestHeaders.push(new Headers(request.headers))
      return reply(request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/daily.xml`,
    requestHeaders,
    [Symbol.dispose]: () => void server.stop(true),
  }
}

/** Rates in the XML format of the European Central Bank. */
export function ecbXml(date: string, rates: Record<string, number | string>): string {
  const cubes = Object.entries(rates)
    .map(([currency, rate]) => `\t\t\t<Cube currency='${currency}' rate='${rate}'/>`)
    .join('\n')
  return `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
\t<gesmes:subject>Reference rates</gesmes:subject>
\t<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
\t<Cube>
\t\t<Cube time='${date}'>
${cubes}
\t\t</Cube>
\t</Cube>
</gesmes:Envelope>`
}
