import sys

from homeport import ApiClient, Configuration
from homeport.api.attachments_api import AttachmentsApi
from homeport.api.billing_api import BillingApi
from homeport.api.signing_in_api import SigningInApi
from homeport.model.login_body import LoginBody
from homeport.model.refresh_body import RefreshBody
from homeport.model.register_body import RegisterBody

base, password, *paths = sys.argv[1:]
client = ApiClient(Configuration(host=base))
# Generated code reads the token even when none is set.
client.configuration.access_token = None
client.set_default_header("device", "Pixel 9")
client.set_default_header("env", "null")
signing_in = SigningInApi(client)

registered = signing_in.register(RegisterBody(email="python@example.com", password=password))
print(registered.code, registered.response.user.email)
challenge = signing_in.login(LoginBody(email="bea@example.com", password=password))
print(challenge.code, len(challenge.response.challenge_token) > 20)
reply = signing_in.login(LoginBody(email="ann@example.com", password=password))
print(reply.code, reply.response.user.email)
session = signing_in.refresh(RefreshBody(refresh_token=reply.response.refresh_token)).response
print("refreshed", session.refresh_token != reply.response.refresh_token)
client.configuration.access_token = session.access_token
print([each.device for each in signing_in.list_sessions().response if each.current])
files = [open(path, "rb") for path in paths]
stored = AttachmentsApi(client).upload_attachments(type="supportTicket", file=files)
print([each.file_name for each in stored.response])
subscription = BillingApi(client).read_subscription(environment="sandbox").response
# This generator returns a nullable model as a dict.
print(subscription.plan["code"])
