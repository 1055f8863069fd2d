import sys

from homeport import ApiClient, Configuration
from homeport.api.attachments_api import AttachmentsApi
from homeport.api.signing_in_api import SigningInApi
from homeport.model.login_body import LoginBody

base, password, *paths = sys.argv[1:]
client = ApiClient(Configuration(host=base))
# Generated code reads the token even when none is set.
client.configuration.access_token = None
client.set_default_header("device", "Pixel 9")
client.set_default_header("env", "null")
signing_in = SigningInApi(client)

challenge = signing_in.login(LoginBody(email="bea@example.com", password=password))
print(challenge.code, len(challenge.response.challenge_token) > 20)
reply = signing_in.login(LoginBody(email="ann@example.com", password=password))
print(reply.code, reply.response.user.email)
client.configuration.access_token = reply.response.access_token
print([each.device for each in signing_in.list_sessions().response if each.current])
files = [open(path, "rb") for path in paths]
stored = AttachmentsApi(client).upload_attachments(type="supportTicket", file=files)
print([each.file_name for each in stored.response])
