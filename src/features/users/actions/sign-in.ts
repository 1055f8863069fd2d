import { t } from 'elysia'
import { defineAction } from '../../../platform/actions/action.ts'
import { UserParams } from '../../../platform/http/api-key-guard.ts'
import { closedObject } from '../../../platform/http/replies/envelope.ts'
import { SignedOutReply } from '../server/model.ts'
import type { Users } from '../users.ts'
import { byAddress, findUser, id, serverRoute, USERS, User } from './user.ts'

type Needs = { users: Users }

const verify = defineAction({
  name: 'users.verify',
  summary: 'Mark an e-mail address as verified, as if the link had been opened',
  label: 'Verified the e-mail of',
  role: 'operator',
  proof: 'stepUp',
  input: User,
  console: 'people/:id/verify',
  form: { verb: 'Mark e-mail verified', done: 'E-mail marked as verified' },
  async work({ users }: Needs, input) {
    const account = await users.directory.find(input.id)
    await users.directory.setEmailVerified(account, true)
    const wasVerified = account.emailVerifiedAt !== null
    return { verified: account.id, email: account.email, wasVerified }
  },
  audit: ({ verified, wasVerified }) => ({
    target: verified,
    before: { verified: wasVerified },
    after: { verified: true },
  }),
  command: {
    ...byAddress,
    print: ({ verified, email }) => `The address ${email} of ${verified} is verified.`,
  },
})

const sendVerification = defineAction({
  name: 'users.send-verification',
  summary: 'Send the verification e-mail again',
  label: 'Sent a verification e-mail to',
  role: 'operator',
  input: User,
  console: 'people/:id/send-verification',
  form: { verb: 'Send verification e-mail', done: 'Verification e-mail queued' },
  async work({ users }: Needs, input) {
    const account = await users.directory.find(input.id)
    await users.addresses.resend(account.id, null)
    return { sent: account.id, email: account.email }
  },
  audit: ({ sent }) => ({ target: sent }),
  command: { ...byAddress, print: ({ email }) => `The e-mail to ${email} is on its way.` },
})

const signOut = defineAction({
  name: 'users.sign-out',
  summary: 'End all sessions of a user and revoke the links in e-mails',
  label: 'Signed out user',
  role: 'operator',
  input: closedObject({
    id,
    session: t.Optional(
      t.String({ maxLength: 100, description: 'only this session; "users show" lists them' }),
    ),
  }),
  console: 'people/:id/sign-out',
  form: { verb: 'Sign out', consequence: 'The user has to sign in again on each of them.' },
  async work({ users }: Needs, { id: idOrEmail, session }, { caller }) {
    const account = await findUser(users, idOrEmail, caller)
    const { length } = await users.devices.list(account.id, '')
    if (session === undefined) await users.accountSecurity.signOut(account.id)
    else await users.devices.end(account.id, session)
    return { signedOut: account.id, sessions: session === undefined ? length : 1 }
  },
  audit: ({ signedOut, sessions }) => ({ target: signedOut, before: { sessions } }),
  show: ({ sessions }) => ({ ended: sessions }),
  server: {
    ...serverRoute,
    method: 'post',
    path: `${USERS}/:id/sign_out`,
    params: UserParams,
    operationId: 'signUserOut',
    summary: 'Sign a user out on every device',
    description: 'Ends all sessions immediately; access tokens are refused from then on.',
    reply: SignedOutReply,
    failures: [404, 507],
  },
  command: {
    ...byAddress,
    risk: async ({ users }: Needs, { id: idOrEmail, session }) => {
      const account = await users.directory.find(idOrEmail)
      if (session !== undefined) return null
      return `This ends all sessions of ${account.email ?? account.id} and revokes the links in e-mails.`
    },
    print: ({ signedOut, sessions }) =>
      `Ended ${sessions} ${sessions === 1 ? 'session' : 'sessions'} of ${signedOut}.`,
  },
})

const endSession = defineAction({
  name: 'users.end-session',
  summary: 'End a session of a user',
  label: 'Ended a session of',
  role: 'operator',
  input: closedObject({ id, session: t.String({ maxLength: 100 }) }),
  console: 'people/:id/sessions/:session/end',
  form: { verb: 'Sign out', done: 'Signed out' },
  work: ({ users }: Needs, input) => users.devices.end(input.id, input.session),
  audit: (_ended, { id: target, session }) => ({ target, before: { session } }),
  command: null,
})

const resetTwoFactor = defineAction({
  name: 'users.reset-two-factor',
  summary: 'Turn two-factor off for a user who lost their device, and end all sessions',
  label: 'Reset two-factor of',
  role: 'operator',
  proof: 'stepUp',
  input: User,
  console: 'people/:id/two-factor/reset',
  form: {
    verb: 'Reset two-factor for',
    consequence:
      'This turns off two-factor authentication and signs out every device. Confirm that the user requested this.',
    done: 'Two-factor is off and all devices are signed out',
  },
  async work({ users }: Needs, input) {
    const account = await users.directory.find(input.id)
    await users.twoFactor.reset(account.id)
    return { reset: account.id }
  },
  audit: ({ reset }) => ({
    target: reset,
    before: { twoFactor: true },
    after: { twoFactor: false },
  }),
  command: {
    ...byAddress,
    risk: async ({ users }: Needs, input) => {
      const account = await users.directory.find(input.id)
      return `This turns two-factor off for ${account.email ?? account.id}. Confirm that the user requested this.`
    },
    print: ({ reset }) => `Two-factor is off for ${reset}.`,
  },
})

export const signInActions = [verify, sendVerification, signOut, endSession, resetTwoFactor]
