/** The OkHttp 4 functions that generated clients call, implemented on Debian's OkHttp 3. */
package okhttp4

import java.io.File
import okhttp3.HttpUrl
import okhttp3.MediaType
import okhttp3.RequestBody

fun String.toMediaTypeOrNull(): MediaType? = MediaType.parse(this)
fun String.toHttpUrlOrNull(): HttpUrl? = HttpUrl.parse(this)
fun String.toRequestBody(type: MediaType?): RequestBody = RequestBody.create(type, this)
fun File.asRequestBody(type: MediaType?): RequestBody = RequestBody.create(type, this)
