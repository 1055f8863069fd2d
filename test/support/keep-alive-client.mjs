// Runs in Node, whose agent keeps connections alive and never retries a request.
// node keep-alive-client.mjs <url> <rate> <sockets> <token>: sends requests until its input ends, then prints their outcomes.
import http from 'node:http'
import https from 'node:https'

const [url, rate, sockets, token] = process.argv.slice(2)
const { Agent, request } = url.startsWith('https:') ? https : http
const agent = new Agent({
  keepAlive: true,
  maxSockets: Number(sockets),
  rejectUnauthorized: false,
})
const outcome = { acknowledged: [], refused: [], connections: 0 }
const started = performance.now()
const pending = new Set()
const known = new WeakSet()
let sent = 0

const timer = setInterval(() => {
  const due = ((performance.now() - started) / 1000) * Number(rate)
  while (sent < due) send(`K${process.pid}-${sent++}`)
}, 5)

process.stdin.resume()
process.stdin.on('end', async () => {
  clearInterval(timer)
  await Promise.all(pending)
  agent.destroy()
  process.stdout.write(JSON.stringify(outcome))
})

function send(id) {
  const body = JSON.stringify({
    event: { id, type: 'TEST', event_timestamp_ms: 1_783_000_000_000 },
  })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    authorization: `Bearer ${token}`,
  }
  const done = new Promise((resolve) => {
    const outgoing = request(`${url}/api/webhooks/billing/v1`, { method: 'POST', agent, headers })
    const refuse = (reason) => {
      outcome.refused.push(`${id} ${Math.round(performance.now() - started)} ms: ${reason}`)
      resolve()
    }
    outgoing.on('socket', (socket) => {
      if (!known.has(socket)) outcome.connections++
      known.add(socket)
    })
    outgoing.on('error', (error) => refuse(`${error.code} ${error.message}`))
    outgoing.on('response', (reply) => {
      reply.resume()
      reply.on('error', (error) => refuse(error.code))
      reply.on('end', () => {
        if (reply.statusCode !== 200) return refuse(reply.statusCode)
        outcome.acknowledged.push(id)
        resolve()
      })
    })
    outgoing.end(body)
  })
  pending.add(done)
  void done.then(() => pending.delete(done))
}
