import { Secret, TOTP } from 'otpauth'
import { createTestApp, PASSWORD } from './app.ts'

/** A server on loopback with Ann, and Bea with two-factor authentication, for the programs of `test/apps/generated`. */
export async function startServerForGenerated() {
  const app = await createTestApp()
  const { server } = app.app.listen({ port: 0, hostname: '127.0.0.1' })
  await app.register('ann@example.com')
  await turnOnTwoFactor((await app.register('bea@example.com')).accessToken)
  return { app, url: `http://127.0.0.1:${server?.port}`, [Symbol.asyncDispose]: dispose }

  async function turnOnTwoFactor(token: string) {
    const json = { password: PASSWORD }
    const setup = await app.ask('POST', '/api/auth/two_factor/v1', { token, json })
    const totp = new TOTP({ secret: Secret.fromBase32(setup.json.response.secret) })
    const code = totp.generate({ timestamp: app.clock.now.getTime() })
    await app.ask('POST', '/api/auth/two_factor/v1/confirm', { token, json: { code } })
  }

  async function dispose() {
    await app.app.server?.stop(true)
    await app[Symbol.asyncDispose]()
  }
}

/** Runs a command beside the running server and returns its output. Throws its whole output if it fails. */
export async function runBeside(cwd: string, command: string[], env: Record<string, string> = {}) {
  const all = { ...process.env, CI: '1', ...env }
  const program = Bun.spawn(command, { cwd, env: all, stdout: 'pipe', stderr: 'pipe' })
  const streams = [program.stdout, program.stderr].map((stream) => new Response(stream).text())
  const [output = '', errorOutput] = await Promise.all(streams)
  if ((await program.exited) !== 0)
    throw new Error(`${command.join(' ')}: ${output}\n${errorOutput}`)
  return output.trim()
}
