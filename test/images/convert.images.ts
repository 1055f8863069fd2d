import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'
import { fetchFile, uploadForm } from '../support/attachments.ts'
import { CANARY, type Input, makeCorpus, SRGB_PROFILE } from './corpus.ts'
import { missingPackages, run } from './tools.ts'

const MAX_DIFFERENCE = 3
const MAX_COMPRESSED_SIDE = 2_560
const TARGETS = [null, 'jpg', 'png', 'webp']
const SAMPLES = 24

const reason = missingPackages()
if (reason) console.log(`skipped: ${reason}`)

test.skipIf(reason !== null)(
  'each input, target and compression gives the same picture as other decoders',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'homeport-images-'))
    using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
    await using app = await createTestApp({ ATTACHMENT_QUOTA_COUNT: '10000' })
    const { accessToken: token } = await app.register()
    const faults: string[] = []
    let compared = 0
    for (const input of await makeCorpus(folder)) {
      const expected = await decodeInput(folder, input)
      for (const targetType of TARGETS) {
        for (const compression of ['false', 'true']) {
          const query = { type: 'publicAsset', compression, ...(targetType && { targetType }) }
          const reply = await uploadForm(app, token, [['a', input.bytes]], query)
          const name = `${input.name} → ${targetType ?? 'same'}, compression=${compression}`
          compared++
          if (reply.status !== 200) {
            faults.push(`${name}: ${reply.status} ${reply.text}`)
            continue
          }
          const [{ url, itemType }] = reply.json.response
          const bytes = Buffer.from(await (await fetchFile(app, url)).arrayBuffer())
          const made = await decode(folder, bytes, itemType.slice('image/'.length))
          const format = targetType?.replace('jpg', 'jpeg') ?? defaultFormat(input)
          const isCompressed = compression === 'true'
          const problems = [
            itemType !== `image/${format}` && `is ${itemType}`,
            !hasSize(made, expected, isCompressed) && `has ${made.width} × ${made.height}`,
            made.orientation > 1 && `has orientation ${made.orientation}`,
            differenceOf(made, expected) > MAX_DIFFERENCE &&
              `differs by ${differenceOf(made, expected)}`,
            (bytes.includes(CANARY) || made.metadata !== '') && `has metadata ${made.metadata}`,
            isCompressed &&
              targetType === null &&
              input.format !== 'heic' &&
              bytes.length > input.bytes.length &&
              `grew to ${bytes.length}`,
          ]
          for (const problem of problems) if (problem) faults.push(`${name}: ${problem}`)
        }
      }
    }
    console.log(`${compared} conversions compared`)
    expect(faults).toEqual([])
  },
  600_000,
)

type Decoded = {
  width: number
  height: number
  orientation: number
  metadata: string
  samples: Buffer
}

/** ImageMagick reads HEIC too, but only libheif's own tool applies every transformation. */
async function decodeInput(folder: string, { format, bytes }: Input): Promise<Decoded> {
  if (format !== 'heic') return decode(folder, bytes, format)
  await Bun.write(`${folder}/a.heic`, bytes)
  run('heif-convert', `${folder}/a.heic`, `${folder}/a.png`)
  return decode(folder, Buffer.from(await Bun.file(`${folder}/a.png`).bytes()), 'png')
}

/** Decodes an image upright, in sRGB and on white. */
async function decode(folder: string, bytes: Buffer, format: string): Promise<Decoded> {
  const [path, profile] = [`${folder}/decoded.${format}`, `${folder}/srgb.icc`]
  await Bun.write(path, bytes)
  await Bun.write(profile, SRGB_PROFILE)
  const formatted = run('identify', '-format', '%[orientation]|%[EXIF:Make]%[IPTC:*]', path)
  const [orientation = '', metadata = ''] = formatted.toString().split('|')
  const upright = [
    path,
    '-auto-orient',
    '-background',
    'white',
    '-alpha',
    'remove',
    '-alpha',
    'off',
  ]
  const size = run('convert', ...upright, '-format', '%w %h', 'info:').toString()
  const [width = 0, height = 0] = size.split(' ').map(Number)
  const scaled = ['-profile', profile, '-scale', `${SAMPLES}x${SAMPLES}!`, '-depth', '8', 'rgb:-']
  const samples = run('convert', ...upright, ...scaled)
  return { width, height, orientation: orientationOf(orientation), metadata, samples }
}

function orientationOf(name: string): number {
  const names = ['TopLeft', 'TopRight', 'BottomRight', 'BottomLeft', 'LeftTop', 'RightTop']
  return 1 + [...names, 'RightBottom', 'LeftBottom'].indexOf(name)
}

function hasSize(made: Decoded, { width, height }: Decoded, isCompressed: boolean): boolean {
  const scale = isCompressed ? Math.min(1, MAX_COMPRESSED_SIDE / Math.max(width, height)) : 1
  const isScaled = made.width === Math.round(width * scale)
  return isScaled && made.height === Math.round(height * scale)
}

function defaultFormat({ format }: Input): string {
  return format === 'heic' ? 'jpeg' : format
}

/** The largest difference within the patches: coding blurs their edges. */
function differenceOf({ samples }: Decoded, expected: Decoded): number {
  let largest = 0
  for (let at = 0; at < samples.length; at++) {
    const [x, y] = [Math.floor(at / 3) % SAMPLES, Math.floor(at / 3 / SAMPLES)]
    if ([x % 4, y % 4].some((place) => place === 0 || place === 3)) continue
    largest = Math.max(largest, Math.abs((samples[at] ?? 0) - (expected.samples[at] ?? 0)))
  }
  return largest
}
