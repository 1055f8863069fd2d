import type { Scenario, Step } from '../types.ts'
import { ANN, BOB, EXPIRE, REFRESH, SIGN_IN, USERS } from './common.ts'

const READ = 'GET /api/user/data/v1'
const PATCH = 'PATCH /api/user/data/v1'
const PUT = 'PUT /api/user/data/v1'
const UPLOAD = 'POST /api/user/attachments/v1'

const FILES = [{ name: 'notes 1.txt', type: 'text/plain', text: 'line one\nline two' }]
const FILE = { name: 'notes 1.txt', type: 'text/plain', size: 17 }
const UPLOADS: Step = {
  call: 'uploadAttachments',
  with: { type: 'supportTicket', files: FILES },
  gives: [{ key: { $any: true }, fileName: { $any: true } }],
}

export const DATA_SCENARIOS: Scenario[] = [
  {
    name: 'data: can be replaced and patched, and null removes a member',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { call: 'readData', gives: { data: {}, updatedAt: null, serverData: {} } },
      {
        call: 'replaceData',
        with: { data: { theme: 'dark', list: [1, 2.5, null], nested: { a: true, b: 'ä' } } },
        gives: { data: { theme: 'dark', list: [1, 2.5, null], nested: { a: true, b: 'ä' } } },
      },
      {
        call: 'patchData',
        with: { data: { theme: null, nested: { a: false } } },
        gives: {
          data: { theme: null, list: { $length: 3 }, nested: { a: false, b: 'ä' } },
          updatedAt: '2026-03-01T12:00:00.000Z',
        },
      },
      {
        sent: [
          READ,
          { request: PUT, query: { version: null }, body: { theme: 'dark' } },
          { request: PATCH, query: { version: null }, body: { nested: { a: false } } },
        ],
      },
      { server: 'setServerData', args: [ANN.email, { level: 3 }] },
      { call: 'readData', gives: { serverData: { level: 3 } } },
    ],
  },
  {
    name: 'data: a patch is sent with its null members',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'patchData', code: 'payload_too_large' } },
      {
        call: 'patchData',
        with: { data: { theme: null, keep: 1 } },
        fails: { code: 'payload_too_large', status: 413 },
      },
      { call: 'replaceData', with: { data: { theme: 'dark', keep: 1 } } },
      { call: 'patchData', with: { data: { theme: null } }, gives: { data: { keep: 1 } } },
      { call: 'readData', gives: { data: { theme: null, keep: 1 } } },
    ],
  },
  {
    name: 'data: a conditional change is refused if another device was first',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { call: 'readData', save: 'before' },
      { in: 'other', call: 'patchData', with: { data: { a: 1 } } },
      { sent: 'any' },
      {
        call: 'patchData',
        with: { data: { b: 2 }, version: '$before.version' },
        fails: { code: 'precondition_failed', status: 412 },
      },
      {
        call: 'replaceData',
        with: { data: { b: 2 }, version: '$before.version' },
        fails: { code: 'precondition_failed', status: 412 },
      },
      {
        sent: [
          { request: PATCH, query: { version: '$before.version' } },
          { request: PUT, query: { version: '$before.version' } },
        ],
      },
      { call: 'readData', gives: { data: { a: 1, b: null } }, save: 'latest' },
      {
        call: 'patchData',
        with: { data: { b: 2 }, version: '$latest.version' },
        gives: { data: { a: 1, b: 2 } },
      },
    ],
  },
  {
    name: 'usage: returns the usage of the plan’s limits',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { server: 'grantSubscription', args: [ANN.email] },
      { server: 'setUsage', args: [ANN.email, { aiMonthlyCreditLimit: 40 }] },
      { fault: { target: 'readUsage', skip: 1, network: 'cut' } },
      { call: 'readUsage', save: 'usage', gives: { $not: [] } },
      { start: 'again', call: 'readUsage' },
      { timer: 300 },
      { wait: 'again', gives: '$usage' },
      { counts: { 'GET /api/user/usage/v1': 3 } },
    ],
  },
  {
    name: 'export: returns all data about the user',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { call: 'exportData', gives: { user: { _id: { $any: true } } } },
      { sent: ['GET /api/user/export/v1'] },
    ],
  },
  {
    name: 'upload: sends the file with its name and type, and reports the progress',
    server: USERS,
    steps: [
      ...SIGN_IN,
      {
        ...UPLOADS,
        with: {
          type: 'publicAsset',
          targetType: 'webp',
          files: [FILES[0], { name: 'b.png', type: 'image/png', size: 200_000 }],
        },
      },
      { progressed: true },
      {
        sent: [
          {
            request: UPLOAD,
            query: { type: 'publicAsset', targetType: 'webp' },
            headers: {
              'content-type': { $matches: '^multipart/form-data; ?boundary=' },
              'idempotency-key': { $matches: '^.{16,}$' },
              authorization: 'Bearer $session.accessToken',
            },
            files: [FILE, { name: 'b.png', type: 'image/png', size: 200_000 }],
          },
        ],
      },
    ],
  },
  {
    name: 'upload: is not retried automatically, and the app can retry it with the same key',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'uploadAttachments', network: 'lost' } },
      {
        ...UPLOADS,
        with: { type: 'supportTicket', files: FILES, idempotencyKey: 'same' },
        gives: undefined,
        fails: { code: 'network_error', status: 0 },
      },
      { ...UPLOADS, with: { type: 'supportTicket', files: FILES, idempotencyKey: 'same' } },
      {
        sent: [
          { request: UPLOAD, headers: { 'idempotency-key': 'same' } },
          { request: UPLOAD, headers: { 'idempotency-key': 'same' }, files: [FILE] },
        ],
      },
    ],
  },
  {
    name: 'upload: is sent again with the same key after the token was refused',
    server: USERS,
    steps: [
      ...SIGN_IN,
      EXPIRE,
      UPLOADS,
      { fault: { target: 'uploadAttachments', code: 'token_expired' } },
      UPLOADS,
      { counts: { [REFRESH]: 2, [UPLOAD]: 3 } },
    ],
  },
  {
    name: 'upload: is cancelled immediately',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'uploadAttachments', network: 'silent' } },
      { start: 'a', call: 'uploadAttachments', with: { type: 'supportTicket', files: FILES } },
      { sent: [UPLOAD] },
      { cancel: 'a' },
      { wait: 'a', fails: { code: 'aborted', status: 0 } },
      UPLOADS,
    ],
  },
  {
    name: 'upload: the timeout counts per file, from the last progress',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'uploadAttachments', network: 'silent' } },
      {
        start: 'a',
        call: 'uploadAttachments',
        with: {
          type: 'supportTicket',
          files: [...FILES, { name: 'b.txt', type: 'text/plain', text: 'b' }],
        },
        timeout: 7_000,
      },
      { sent: [UPLOAD] },
      { timer: 14_000 },
      { wait: 'a', fails: { code: 'timeout', status: 0 } },
    ],
  },
  {
    name: 'upload: an unreadable file fails with file_unreadable',
    server: USERS,
    steps: [
      ...SIGN_IN,
      {
        call: 'uploadAttachments',
        with: { type: 'supportTicket', files: [{ name: 'missing.txt', type: 'text/plain' }] },
        fails: { code: 'file_unreadable', status: 0 },
      },
      { sent: [] },
    ],
  },
  {
    name: 'upload: passes on the server’s error codes',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'uploadAttachments', code: 'quota_exceeded' } },
      { ...UPLOADS, gives: undefined, fails: { code: 'quota_exceeded' } },
      { fault: { target: 'uploadAttachments', html: 413 } },
      { ...UPLOADS, gives: undefined, fails: { code: 'reply_invalid', status: 413 } },
      { counts: { [UPLOAD]: 2 } },
    ],
  },
  {
    name: 'upload: is not sent as a user who has signed in since',
    server: USERS,
    steps: [
      ...SIGN_IN,
      EXPIRE,
      { fault: { target: 'refresh', hold: 'refresh' } },
      { fault: { target: 'logout', network: 'cut' } },
      { start: 'a', call: 'uploadAttachments', with: { type: 'supportTicket', files: FILES } },
      { holding: 'refresh' },
      { call: 'logout' },
      { call: 'login', with: BOB, save: 'bob' },
      { sent: 'any' },
      { release: 'refresh' },
      {
        wait: 'a',
        gives: [{ key: { $any: true } }],
      },
      {
        sent: [
          { request: UPLOAD, headers: { authorization: { $not: 'Bearer $bob.accessToken' } } },
        ],
      },
    ],
  },
]
