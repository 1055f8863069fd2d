import homeport.apis.AttachmentsApi
import homeport.apis.BillingApi
import homeport.apis.SigningInApi
import homeport.infrastructure.ApiClient
import homeport.models.LoginBody
import homeport.models.RefreshBody
import homeport.models.RegisterBody
import java.io.File

fun main(args: Array<String>) {
    val (base, password, picture) = args
    // Adds the common headers to every request, because generated functions have no arguments for them.
    ApiClient.builder.addInterceptor { chain ->
        val request = chain.request().newBuilder().header("device", "Pixel 9").header("env", "null").build()
        chain.proceed(request)
    }
    val signingIn = SigningInApi(base)
    val registered = signingIn.register(RegisterBody("kotlin@example.com", password))
    println("${registered.code} ${registered.response.user.email}")
    val challenge = signingIn.login(LoginBody("bea@example.com", password))
    println("${challenge.code} ${challenge.response.challengeToken!!.length > 20}")
    val reply = signingIn.login(LoginBody("ann@example.com", password))
    println("${reply.code} ${reply.response.user?.email}")
    val session = signingIn.refresh(RefreshBody(reply.response.refreshToken!!)).response
    println("refreshed ${session.refreshToken != reply.response.refreshToken}")
    ApiClient.accessToken = session.accessToken
    println(signingIn.listSessions().response.filter { it.current }.map { it.device })
    // This generator sends the text "null" as each upload's Idempotency-Key; both must still be stored.
    val keys = listOf(1, 2).map {
        AttachmentsApi(base).uploadAttachments("supportTicket", null, null, null, null, File(picture)).response.map { it.key }
    }
    println(keys.flatten().toSet().size)
    println(BillingApi(base).readSubscription(null, null, null).response.plan?.code)
}
