import sharp, { type Sharp } from 'sharp'
import {
  ADOBE_PRIMARIES,
  P3_PRIMARIES,
  profileOf,
  SRGB_CURVE,
  SRGB_PRIMARIES,
} from '../support/colour-profiles.ts'
import { type HeicShape, heicOf } from '../support/heic.ts'
import { withJpegSegments, withPngChunks } from '../support/image-parts.ts'
import { run } from './tools.ts'

export type Input = { name: string; format: 'jpeg' | 'png' | 'webp' | 'heic'; bytes: Buffer }

export const CANARY = 'CanaryPhone'
export const SRGB_PROFILE = profileOf('sRGB', SRGB_PRIMARIES, SRGB_CURVE)
const PROFILES: [name: string, profile: Buffer][] = [
  ['Display P3', profileOf('Display P3', P3_PRIMARIES, SRGB_CURVE)],
  ['Galaxy P3', profileOf('DCI-P3 D65 Gamut with sRGB Transfer', P3_PRIMARIES, SRGB_CURVE)],
  ['Adobe RGB', profileOf('Adobe RGB (1998)', ADOBE_PRIMARIES, { gamma: 2.19921875 })],
]
/** No saturated colours: the conversion would clip them. */
const PATCHES = [
  ...['#c83c3c', '#3ca050', '#4060b0'],
  ...['#e8e0d0', '#808080', '#302820'],
  ...['#a0a040', '#b06090', '#60a0a0'],
]
const COLUMNS = 3
/** Each patch covers a multiple of 4 samples in both directions, even in a 2 × 2 grid. */
const [PATCH_WIDTH, PATCH_HEIGHT] = [128, 96]
const SIZE = { width: COLUMNS * PATCH_WIDTH, height: COLUMNS * PATCH_HEIGHT }

/** Images of nine patches, in each format and in the ways that cameras and programs write it. */
export async function makeCorpus(folder: string): Promise<Input[]> {
  const plain = await createPatches()
  const exif = { IFD0: { Make: CANARY } }
  const tagged = (image: Sharp) => image.withExif(exif)
  const transparent = await sharp(plain).ensureAlpha(0.5).png().toBuffer()
  const inputs: Input[] = []
  const add = async (format: Input['format'], name: string, image: Buffer | Promise<Buffer>) => {
    inputs.push({ name: `${format}: ${name}`, format, bytes: await image })
  }
  for (const quality of [20, 50, 70, 92]) {
    await add('jpeg', `quality ${quality}`, tagged(sharp(plain)).jpeg({ quality }).toBuffer())
    await add('webp', `quality ${quality}`, tagged(sharp(plain)).webp({ quality }).toBuffer())
  }
  for (const orientation of [2, 3, 4, 5, 6, 7, 8]) {
    const image = tagged(sharp(plain)).withMetadata({ orientation }).withExifMerge(exif)
    await add('jpeg', `orientation ${orientation}`, image.jpeg().toBuffer())
    await add('webp', `orientation ${orientation}`, image.webp().toBuffer())
  }
  await add('jpeg', 'progressive', tagged(sharp(plain)).jpeg({ progressive: true }).toBuffer())
  await add('jpeg', 'grey', tagged(sharp(plain)).toColourspace('b-w').jpeg().toBuffer())
  const comment = Buffer.from(CANARY)
  await add(
    'jpeg',
    'comments',
    withJpegSegments(await sharp(plain).jpeg().toBuffer(), [
      [0xfe, comment],
      [0xed, comment],
    ]),
  )
  await add('png', 'plain', withPngChunks(plain, [['tEXt', Buffer.from(`Author\0${CANARY}`)]]))
  await add('png', 'transparent', transparent)
  await add('webp', 'transparent', sharp(transparent).webp().toBuffer())
  await add('webp', 'lossless', tagged(sharp(plain)).webp({ lossless: true }).toBuffer())
  await add('png', 'palette', sharp(plain).png({ palette: true, colours: 6 }).toBuffer())
  await add('png', 'grey', sharp(plain).toColourspace('b-w').png().toBuffer())
  await add('png', '16 bits', sharp(plain).toColourspace('rgb16').png().toBuffer())
  await add(
    'png',
    'one bit',
    sharp(plain).threshold(128).png({ palette: true, colours: 2 }).toBuffer(),
  )
  await add('jpeg', 'larger than 2,560 pixels', sharp(plain).resize(3_000).jpeg().toBuffer())
  for (const [name, profile] of PROFILES) {
    const path = `${folder}/profile.icc`
    await Bun.write(path, profile)
    // If the image has no profile, ImageMagick attaches this one and leaves the pixels unchanged.
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const lossless = format === 'webp' ? ['-define', 'webp:lossless=true'] : ['-quality', '92']
      await Bun.write(`${folder}/in.png`, plain)
      run(
        'convert',
        `${folder}/in.png`,
        '-strip',
        '-profile',
        path,
        ...lossless,
        `${folder}/in.${format}`,
      )
      await add(format, name, Buffer.from(await Bun.file(`${folder}/in.${format}`).bytes()))
    }
  }
  await addHeics(folder, plain, transparent, add)
  return inputs
}

async function addHeics(
  folder: string,
  plain: Buffer,
  transparent: Buffer,
  add: (format: 'heic', name: string, image: Buffer) => Promise<void>,
) {
  const encode = async (png: Buffer, ...options: string[]) => {
    await Bun.write(`${folder}/in.png`, png)
    run(
      'heif-enc',
      '-q',
      '90',
      ...options,
      '-p',
      'chroma=444',
      `${folder}/in.png`,
      '-o',
      `${folder}/in.heic`,
    )
    return Buffer.from(await Bun.file(`${folder}/in.heic`).bytes())
  }
  const deep = await sharp(plain).toColourspace('rgb16').png().toBuffer()
  const source = { ...SIZE, file: await encode(plain) }
  const shapes: [name: string, HeicShape][] = [
    ['turned left', { turns: 1 }],
    ['turned right', { turns: 3 }],
    ['mirrored', { mirror: 1 }],
    ['tiles', { grid: [2, 2] }],
    ['turned tiles', { grid: [2, 2], turns: 3 }],
    ['10 bits', { source: { ...SIZE, file: await encode(deep, '-b', '10') } }],
    ...PROFILES.map(([name, iccProfile]): [string, HeicShape] => [name, { iccProfile }]),
  ]
  await add('heic', 'plain', source.file)
  await add('heic', 'transparent', await encode(transparent))
  const exif = Buffer.from(`MM\0*\0\0\0\x08\0\0\0\0\0\0${CANARY}`, 'latin1')
  for (const [name, shape] of shapes) await add('heic', name, heicOf({ source, exif, ...shape }))
}

function createPatches(): Promise<Buffer> {
  const overlays = PATCHES.map((background, at) => ({
    input: {
      create: { width: PATCH_WIDTH, height: PATCH_HEIGHT, channels: 3 as const, background },
    },
    left: (at % COLUMNS) * PATCH_WIDTH,
    top: Math.floor(at / COLUMNS) * PATCH_HEIGHT,
  }))
  const create = { ...SIZE, channels: 3 as const, background: '#000' }
  return sharp({ create }).composite(overlays).removeAlpha().png().toBuffer()
}
