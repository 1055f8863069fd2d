import type { Sentences } from '../../platform/http/language/translator.ts'

export const attachmentGerman: Sentences = {
  'The file has been deleted.': 'Die Datei ist gelöscht.',
  'The server has run out of storage space. Try again later.':
    'Der Server hat keinen Platz für Dateien. Versuche es später noch einmal.',
  'Too many uploads at once. Try again in a moment.':
    'Gerade wird zu viel hochgeladen. Versuche es gleich noch einmal.',
  'A file must not exceed # bytes.': 'Eine Datei darf höchstens # Bytes haben.',
  'Send at most # files.': 'Es gehen höchstens # Dateien auf einmal.',
  'You can store at most # files and # bytes in total. Delete some first.':
    'Du darfst # Dateien mit zusammen # Bytes ablegen: Lösche zuerst einige.',
  'Only images (JPEG, PNG, WebP, HEIC) can be converted.':
    'Nur Bilder (JPEG, PNG, WebP, HEIC) lassen sich umwandeln.',
  'Send a JPEG, PNG, WebP or HEIC image. The content determines the type, not the name.':
    'Es geht nur ein Bild als JPEG, PNG, WebP oder HEIC.',
  'Send a JPEG, PNG, WebP or HEIC image, PDF, text, JSON, ZIP or MP4. The content determines the type, not the name.':
    'Es geht ein Bild als JPEG, PNG, WebP oder HEIC, PDF, Text, JSON, ZIP oder MP4.',
  'The image is damaged and cannot be read.': 'Das Bild ist beschädigt und lässt sich nicht lesen.',
  'The image is too large. The limits are # megapixels (# for a progressive JPEG, # for a HEIC with # bits) and # pixels per side.':
    'Das Bild ist zu groß: höchstens # Megapixel (# bei einem progressiven JPEG, # bei einem HEIC mit # Bit) und # Pixel je Seite.',
  'The converted image would exceed # MiB: choose another targetType (webp is the smallest) or compression=true.':
    'Das umgewandelte Bild hätte über # MiB: Wähle einen anderen targetType (webp ist am kleinsten) oder compression=true.',
  'The image takes too long to process: send a smaller one.':
    'Das Bild braucht zu lange: Nimm ein kleineres.',
  'Images cannot be processed at the moment. Try again later.':
    'Bilder lassen sich zurzeit nicht verarbeiten. Versuche es später noch einmal.',
  'The image could not be processed. Send it again.':
    'Das Bild ließ sich nicht verarbeiten. Schicke es noch einmal.',
  'The Content-Type header has no multipart boundary. Do not set Content-Type yourself: your HTTP client adds it with the boundary.':
    'Dem Formular fehlt die Grenze. Setze Content-Type nicht selbst: Der Client ergänzt ihn mit der Grenze.',
  'A form must not have more than # parts.': 'Ein Formular darf höchstens # Teile haben.',
  'Send the parts of the form without a Content-Transfer-Encoding, or as base#.':
    'Schicke die Teile des Formulars ohne Content-Transfer-Encoding oder als base#.',
  'Also specify a width: `format` applies only to variants.':
    'Wähle auch eine Breite: `format` gibt es nur dafür.',
  'must have # parts or fewer': 'darf höchstens # Teile haben',
  'must have # files or fewer': 'darf höchstens # Dateien haben',
  'is only for images': 'gibt es nur für Bilder',
  'Only images have variants.': 'Nur Bilder gibt es in anderen Größen.',
}
