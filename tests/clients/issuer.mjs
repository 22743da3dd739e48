// An issuer of OpenID Connect by its makers' library, for browsers that come back to the address in its first argument. It
// prints its own address, and goes by it, or by the one in its second argument. Whoever signs in is who they say, with the groups that stand behind a hyphen: "ada-staff".
import http from "node:http";
import Provider from "oidc-provider";

const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(process.argv[3] ?? issuer, {
    clients: [{ client_id: "notes", client_secret: "asecretoftheclient", redirect_uris: [process.argv[2]] }],
    scopes: ["openid", "email", "profile", "groups"],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username"], groups: ["groups"] },
    pkce: { methods: ["S256"], required: () => true },
    cookies: { keys: ["keys of the tests"] },
    async findAccount(ctx, id) {
      const [name, ...groups] = id.split("-");
      return {
        accountId: id,
        claims: async () => ({ sub: id, email: `${name}@example.org`, email_verified: true, preferred_username: name, groups }),
      };
    },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
