import homeport.ApiClient;
import homeport.api.BillingApi;
import homeport.api.SigningInApi;
import homeport.model.Device;
import homeport.model.LoginBody;
import homeport.model.RefreshBody;
import homeport.model.RegisterBody;
import java.net.URI;

public class Demo {
  public static void main(String[] args) throws Exception {
    URI base = URI.create(args[0]);
    String[] token = {null};
    ApiClient client = new ApiClient().setScheme("http").setHost(base.getHost()).setPort(base.getPort());
    client.setRequestInterceptor(request -> {
      request.header("device", "Pixel 9").header("env", "null");
      if (token[0] != null) request.header("Authorization", "Bearer " + token[0]);
    });
    SigningInApi signingIn = new SigningInApi(client);
    var registered = signingIn.register(new RegisterBody().email("java@example.com").password(args[1]));
    System.out.println(registered.getCode() + " " + registered.getResponse().getUser().getEmail());
    var challenge = signingIn.login(new LoginBody().email("bea@example.com").password(args[1]));
    System.out.println(challenge.getCode() + " " + (challenge.getResponse().getChallengeToken().length() > 20));
    var reply = signingIn.login(new LoginBody().email("ann@example.com").password(args[1]));
    System.out.println(reply.getCode() + " " + reply.getResponse().getUser().getEmail());
    var session = signingIn.refresh(new RefreshBody().refreshToken(reply.getResponse().getRefreshToken())).getResponse();
    System.out.println("refreshed " + !session.getRefreshToken().equals(reply.getResponse().getRefreshToken()));
    token[0] = session.getAccessToken();
    for (Device each : signingIn.listSessions().getResponse())
      if (each.getCurrent()) System.out.println(each.getDevice());
    System.out.println(new BillingApi(client).readSubscription(null, null, null).getResponse().getPlan().getCode());
  }
}
