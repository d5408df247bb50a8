/** Ways to write `/login` that some servers take for it; those after the first in another case. */
export const LOGIN_FORMS: readonly string[] = `
  /login /login/ /login// //login /./login /login/. /a/../login /../login
  /%6Cogin /login%2f /login%2F /%2flogin /%2e/login /a/%2e%2e/login /login%5c
  /login;a=b /login; /;a/login /login/;a=b /login;a=b/ /login;a=%2f
  /login%20 /login%09 /%20login /login%20/ /login? /login?a=b /login?a=/b/c
  /LOGIN /Login/ /%4COGIN;A=B
`.trim().split(/\s+/);
