-- The whole schema, in the order of schema.prisma, which says what each table and column means.
-- Names that PostgreSQL makes up (keys, foreign keys) are those that Prisma expects.

-- Types

CREATE TYPE discussion_state AS ENUM ('open', 'locked', 'archived');
CREATE TYPE comment_status AS ENUM ('pending', 'approved', 'rejected', 'deleted');
CREATE TYPE endpoint_state AS ENUM ('unverified', 'verified', 'disabled');
CREATE TYPE delivery_status AS ENUM ('pending', 'delivering', 'delivered', 'failed', 'held');
CREATE TYPE analytics_metric AS ENUM (
  'comments_pending', 'comments_approved', 'comments_rejected', 'comments_deleted', 'reactions', 'reports',
  'deliveries_pending', 'deliveries_delivered', 'deliveries_failed', 'deliveries_held', 'deliveries_cancelled'
);
CREATE TYPE analytics_interval AS ENUM ('hour', 'day');

-- Functions of generated columns. These columns are stored: a function that changes needs a new column.

-- How many reactions a comment has, from its counts by type. Of an SQL function PostgreSQL would read the body in each
-- statement that writes a comment, to see whether it can take its place; of this one once in a session.
CREATE FUNCTION reaction_total(counts jsonb) RETURNS integer LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(value::integer), 0) FROM jsonb_each_text(counts));
END $$;

-- A text in the normal form NFKD without case, whatever the locale of the database: to lower(), a Turkish one makes of I
-- another letter than i, and C knows no letters but those of ASCII. So the letters are listed: each that Unicode's simple
-- folding changes. The forms of the Turkish i are one letter, those of the Greek sigma as well. Each letter of a text is
-- sought in the whole list, so the long list of rare letters waits until a text has one of theirs.
CREATE FUNCTION search_case(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  folded text := lower(said COLLATE "C");
BEGIN
  IF octet_length(folded) = char_length(folded) THEN
    RETURN folded;
  END IF;
  folded := translate(folded,
      'ÆÐØÞĐĦıŁŊŒŦΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ',
      'æðøþđħiłŋœŧαβγδεζηθικλμνξοπρστυφχψωσђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюя');
  IF folded ~ '[\u0181-\u024E\u0370-\u037F\u03CF-\u03FF\u0460-\u0556\u10A0-\u10CD\u13A0-\u13F5\u1C80-\u1CBF\u1E9E\u1EFA-\u1EFE\u2132\u2183\u2C00-\u2CF2\uA640-\uA69A\uA722-\uA7F5\U00010400-\U00010427\U000104B0-\U000104D3\U00010570-\U00010595\U00010C80-\U00010CB2\U00010D50-\U00010D65\U000118A0-\U000118BF\U00016E40-\U00016E5F\U00016EA0-\U00016EB8\U0001E900-\U0001E921]' THEN
    folded := translate(folded,
      'ƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾϿѠѢѤѦѨѪѬѮѰѲѴѸѺѼ'
      'ѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆ'
      'ՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁ'
      'ᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲀᲁᲂᲃᲄᲅᲆᲇᲈᲉᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫ'
      'ᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿẞỺỼỾℲↃⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄ'
      'ⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦ'
      'ꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟋꟌ꟎Ꟑ꟒꟔ꟖꟘꟚꟜꟵ'
      '𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾'
      '𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𐵐𐵑𐵒𐵓𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡'
      '𐵢𐵣𐵤𐵥𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𖺠𖺡𖺢𖺣𖺤𖺥𖺦𖺧𖺨𖺩𖺪𖺫𖺬𖺭𖺮𖺯𖺰𖺱𖺲𖺳𖺴𖺵'
      '𖺶𖺷𖺸𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡',
      'ɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼͽѡѣѥѧѩѫѭѯѱѳѵѹѻѽ'
      'ѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյն'
      'շոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑ'
      'ꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽвдосттъѣꙋᲊაბგდევზთიკლმნოპჟრსტუფქღყშჩცძ'
      'წჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿßỻỽỿⅎↄⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅ'
      'ⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧ'
      'ꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊɤꟍ꟏ꟑꟓꟕꟗꟙꟛƛꟶ'
      '𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥'
      '𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𐵰𐵱𐵲𐵳𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁'
      '𐶂𐶃𐶄𐶅𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𖺻𖺼𖺽𖺾𖺿𖻀𖻁𖻂𖻃𖻄𖻅𖻆𖻇𖻈𖻉𖻊𖻋𖻌𖻍𖻎𖻏𖻐'
      '𖻑𖻒𖻓𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃');
  END IF;
  RETURN folded;
END
$$;

-- A text as it is compared: without case and accents, compatible forms as one. Punctuation stays.
CREATE FUNCTION search_fold(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN search_case(regexp_replace(normalize(coalesce(said, ''), NFKD), '[\u0300-\u036F]+', '', 'g'));
END
$$;

-- The words of a folded text with single spaces between them. The separators are listed: which letters a regular
-- expression knows depends on the database's locale. In scripts without spaces each character is a word. 60 characters of
-- a word count: an index takes no longer ones than 2 046 bytes.
CREATE FUNCTION search_split(folded text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN btrim(regexp_replace(regexp_replace(regexp_replace(folded,
    '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2E80-\u2FDF\u3040-\u30FF\u3400-\u9FFF\U00020000-\U0003FFFF])', ' \1 ', 'g'),
    '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00BF\u2000-\u206F\u3000-\u303F]+', ' ', 'g'),
    '([^ ]{60})[^ ]+', '\1', 'g'));
END
$$;

-- What a row is found by: its tenant's key for it (after =) and the words of its name (each after a dot). Every one begins
-- with the random end of the tenant's id, so that a search of the index reads little of others; which rows are the
-- tenant's is for tenant_id to say.
CREATE FUNCTION search_terms(tenant uuid, folded_key text, words text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  prefix CONSTANT text := right(tenant::text, 8);
BEGIN
  RETURN array_to_tsvector(array_append(
    CASE WHEN words = '' THEN '{}' ELSE string_to_array(prefix || '.' || replace(words, ' ', ' ' || prefix || '.'), ' ') END,
    prefix || '=' || left(folded_key, 255)));
END
$$;

-- What a search asks of search_terms: a key that begins with it, or all of its words, the last one as a beginning. Quotes
-- and backslashes are doubled, all else within quotes is text; words have neither.
CREATE FUNCTION search_query(tenant uuid, folded text, words text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  prefix CONSTANT text := right(tenant::text, 8);
BEGIN
  RETURN ('''' || prefix || '=' || replace(replace(left(folded, 255), '\', '\\'), '''', '''''') || ''':*'
    || CASE WHEN words = '' THEN ''
       ELSE ' | (''' || prefix || '.' || replace(words, ' ', ''' & ''' || prefix || '.') || ''':*)' END)::tsquery;
END
$$;

-- Tables

CREATE TABLE tenants (
  id uuid PRIMARY KEY,
  slug text NOT NULL,
  settings jsonb NOT NULL DEFAULT '{}',
  profile_version bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE admins (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  email text NOT NULL,
  password_hash text NOT NULL,
  credential_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE api_keys (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  label text NOT NULL,
  prefix text NOT NULL,
  digest bytea NOT NULL,
  capabilities text[],
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT api_keys_digest CHECK (octet_length(digest) = 32)
);

CREATE TABLE identity_secrets (
  tenant_id uuid NOT NULL,
  kid text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, kid),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE identity_key_sets (
  tenant_id uuid PRIMARY KEY,
  url text NOT NULL,
  jwks jsonb,
  fetched_at timestamptz(3),
  tried_at timestamptz(3),
  failing_since timestamptz(3),
  due_at timestamptz(3) NOT NULL,
  error text,
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE readers (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  external_id text NOT NULL,
  name text,
  avatar_url text,
  profile_url text,
  profile_issued_at timestamptz(3) NOT NULL,
  banned_at timestamptz(3),
  banned_until timestamptz(3),
  ban_reason text,
  shadow_banned boolean NOT NULL DEFAULT false,
  erasing_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  search tsvector NOT NULL
    GENERATED ALWAYS AS (search_terms(tenant_id, search_fold(external_id), search_split(search_fold(name)))) STORED,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE reader_merges (
  tenant_id uuid NOT NULL,
  reader_id uuid NOT NULL,
  into_id uuid NOT NULL,
  alias_id uuid NOT NULL,
  merging_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, reader_id),
  FOREIGN KEY (tenant_id, into_id) REFERENCES readers (tenant_id, id),
  FOREIGN KEY (tenant_id, alias_id) REFERENCES readers (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE client_tokens (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  digest bytea NOT NULL,
  minter_id uuid NOT NULL,
  reader_id uuid,
  discussion_ids uuid[] NOT NULL DEFAULT '{}',
  external_ids text[] NOT NULL DEFAULT '{}',
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (tenant_id, reader_id) REFERENCES readers (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

-- Rows whose counters change all the time keep room for their next version on their page (HOT updates).
CREATE TABLE discussions (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  external_id text NOT NULL,
  title text,
  url text,
  state discussion_state NOT NULL DEFAULT 'open',
  comment_count integer NOT NULL DEFAULT 0,
  seq bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  last_commented_at timestamptz(3),
  active_at timestamptz(3) NOT NULL DEFAULT date_trunc('minute', now()),
  auto_closed_at timestamptz(3),
  scrubs integer NOT NULL DEFAULT 0,
  search tsvector NOT NULL
    GENERATED ALWAYS AS (search_terms(tenant_id, search_fold(external_id), search_split(search_fold(title)))) STORED,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT discussions_counts CHECK (comment_count >= 0 AND seq >= 0),
  CONSTRAINT discussions_external_id_512 CHECK (char_length(external_id) BETWEEN 1 AND 512)
) WITH (fillfactor = 60);

CREATE TABLE discussion_aliases (
  tenant_id uuid NOT NULL,
  external_id text NOT NULL,
  discussion_id uuid NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, external_id),
  FOREIGN KEY (tenant_id, discussion_id) REFERENCES discussions (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE comments (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  discussion_id uuid NOT NULL,
  parent_id uuid,
  depth integer NOT NULL DEFAULT 0,
  author_id uuid,
  body text,
  body_html text,
  status comment_status NOT NULL,
  pinned_at timestamptz(3),
  edited_at timestamptz(3),
  deleted_at timestamptz(3),
  revision integer NOT NULL DEFAULT 1,
  reply_count integer NOT NULL DEFAULT 0,
  reaction_counts jsonb NOT NULL DEFAULT '{}',
  -- A strict function is not called with null: that spares each new comment, which has no reactions, its cost.
  reaction_count integer NOT NULL
    GENERATED ALWAYS AS (coalesce(reaction_total(nullif(reaction_counts, '{}')), 0)) STORED,
  first_approved_at timestamptz(3),
  report_count integer NOT NULL DEFAULT 0,
  reports_answered integer NOT NULL DEFAULT 0,
  hold_reason text,
  flagged boolean NOT NULL DEFAULT false,
  text_digest bigint,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, discussion_id) REFERENCES discussions (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (tenant_id, parent_id) REFERENCES comments (tenant_id, id),
  FOREIGN KEY (tenant_id, author_id) REFERENCES readers (tenant_id, id),
  CONSTRAINT comments_counts CHECK (depth >= 0 AND reply_count >= 0 AND revision >= 1),
  CONSTRAINT comments_root_depth CHECK ((parent_id IS NULL) = (depth = 0)),
  CONSTRAINT comments_pin CHECK (pinned_at IS NULL OR status = 'approved'),
  CONSTRAINT comments_deleted CHECK ((status = 'deleted') = (deleted_at IS NOT NULL)),
  CONSTRAINT comments_body CHECK (status = 'deleted' OR (body IS NOT NULL AND body_html IS NOT NULL)),
  CONSTRAINT comments_reports CHECK (reports_answered BETWEEN 0 AND report_count)
) WITH (fillfactor = 85);

CREATE TABLE classifier_requests (
  tenant_id uuid NOT NULL,
  comment_id uuid NOT NULL,
  revision integer NOT NULL,
  due_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, comment_id),
  FOREIGN KEY (tenant_id, comment_id) REFERENCES comments (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE documents (
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  id text NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);

CREATE TABLE document_aliases (
  tenant_id uuid NOT NULL,
  alias text NOT NULL,
  document_id text NOT NULL,
  PRIMARY KEY (tenant_id, alias),
  FOREIGN KEY (tenant_id, document_id) REFERENCES documents (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE classifier_secrets (
  tenant_id uuid NOT NULL,
  kid text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, kid),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE comment_revisions (
  tenant_id uuid NOT NULL,
  comment_id uuid NOT NULL,
  revision integer NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, comment_id, revision),
  FOREIGN KEY (tenant_id, comment_id) REFERENCES comments (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE reactions (
  tenant_id uuid NOT NULL,
  comment_id uuid NOT NULL,
  reader_id uuid NOT NULL,
  type text,
  previous_type text,
  updated_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, comment_id, reader_id),
  FOREIGN KEY (tenant_id, comment_id) REFERENCES comments (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (tenant_id, reader_id) REFERENCES readers (tenant_id, id)
);

CREATE TABLE shadow_reactions (
  tenant_id uuid NOT NULL,
  comment_id uuid NOT NULL,
  reader_id uuid NOT NULL,
  type text,
  updated_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, comment_id, reader_id),
  FOREIGN KEY (tenant_id, comment_id) REFERENCES comments (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (tenant_id, reader_id) REFERENCES readers (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE reports (
  tenant_id uuid NOT NULL,
  comment_id uuid NOT NULL,
  reader_id uuid NOT NULL,
  reason text NOT NULL,
  note text,
  counted boolean NOT NULL DEFAULT true,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, comment_id, reader_id),
  FOREIGN KEY (tenant_id, comment_id) REFERENCES comments (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  FOREIGN KEY (tenant_id, reader_id) REFERENCES readers (tenant_id, id),
  CONSTRAINT reports_reason CHECK (reason IN ('spam', 'abuse', 'off_topic', 'other'))
);

CREATE TABLE events (
  tenant_id uuid NOT NULL,
  discussion_id uuid NOT NULL,
  seq bigint NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  audience text NOT NULL,
  recipient_id uuid,
  occurred_at timestamptz(3) NOT NULL,
  actor json NOT NULL,
  data json NOT NULL,
  -- The trace of the write, where it was sampled: its deliveries are linked to it.
  trace text,
  PRIMARY KEY (tenant_id, discussion_id, seq),
  FOREIGN KEY (tenant_id, discussion_id) REFERENCES discussions (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT events_seq CHECK (seq >= 1),
  -- `own` events go to streams of their recipient alone. The recipient of a `public` event does not get it: they get an
  -- `own` event in its place. After an erasure the recipient is null.
  CONSTRAINT events_audience_of CHECK (CASE audience
    WHEN 'public' THEN true
    WHEN 'tenant' THEN recipient_id IS NULL
    WHEN 'recipient' THEN recipient_id IS NOT NULL
    WHEN 'own' THEN true
    ELSE false END)
);

CREATE UNLOGGED TABLE stream_processes (
  id uuid PRIMARY KEY,
  seen_at timestamptz(3) NOT NULL
);

CREATE UNLOGGED TABLE stream_counts (
  tenant_id uuid NOT NULL,
  discussion_id uuid NOT NULL,
  process_id uuid NOT NULL,
  streams integer NOT NULL,
  PRIMARY KEY (tenant_id, discussion_id, process_id),
  FOREIGN KEY (process_id) REFERENCES stream_processes (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE webhook_endpoints (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  url text NOT NULL,
  description text,
  event_types text[],
  state endpoint_state NOT NULL DEFAULT 'unverified',
  disabled_reason text,
  consecutive_failures integer NOT NULL DEFAULT 0,
  circuit_open_until timestamptz(3),
  recovered_at timestamptz(3),
  policy jsonb NOT NULL DEFAULT '{}',
  challenge text,
  verification_due_at timestamptz(3),
  last_verification_at timestamptz(3),
  last_verification_ok boolean,
  last_verification_error text,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  paused_until timestamptz(3),
  discussion_ids uuid[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT webhook_endpoints_failures CHECK (consecutive_failures >= 0),
  CONSTRAINT webhook_endpoints_event_types CHECK (cardinality(event_types) >= 1)
);

CREATE TABLE deleted_endpoints (
  tenant_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  deleted_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, endpoint_id)
);

CREATE TABLE webhook_secrets (
  tenant_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  kid text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, endpoint_id, kid),
  FOREIGN KEY (tenant_id, endpoint_id) REFERENCES webhook_endpoints (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE webhook_headers (
  tenant_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  name text NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (tenant_id, endpoint_id, name),
  FOREIGN KEY (tenant_id, endpoint_id) REFERENCES webhook_endpoints (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE deliveries (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  discussion_id uuid NOT NULL,
  seq bigint NOT NULL,
  body text,
  is_replay boolean NOT NULL DEFAULT false,
  is_redelivery boolean NOT NULL DEFAULT false,
  status delivery_status NOT NULL DEFAULT 'pending',
  attempt_count integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3) DEFAULT CURRENT_TIMESTAMP,
  lease_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  delivered_at timestamptz(3),
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT deliveries_due CHECK (status NOT IN ('pending', 'delivering') OR next_attempt_at IS NOT NULL),
  CONSTRAINT deliveries_lease CHECK ((status = 'delivering') = (lease_id IS NOT NULL)),
  CONSTRAINT deliveries_delivered CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
);

CREATE TABLE attempts (
  tenant_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  n integer NOT NULL,
  at timestamptz(3) NOT NULL,
  duration_ms integer NOT NULL,
  status_code integer,
  error text,
  response_snippet text,
  PRIMARY KEY (tenant_id, delivery_id, n),
  FOREIGN KEY (tenant_id, delivery_id) REFERENCES deliveries (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE audit_log (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  actor_kind text NOT NULL,
  actor_id uuid,
  action text NOT NULL,
  target_type text NOT NULL,
  target_id text,
  before jsonb,
  after jsonb,
  at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  import_id uuid,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE idempotency_records (
  tenant_id uuid NOT NULL,
  key_digest bytea NOT NULL,
  request_digest bytea NOT NULL,
  status integer NOT NULL,
  content_type text,
  body bytea,
  mentions uuid[],
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, key_digest),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT idempotency_records_status CHECK (status BETWEEN 200 AND 499 AND status <> 429)
);

CREATE TABLE tenant_exports (
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE,
  id uuid NOT NULL,
  erasures integer NOT NULL DEFAULT 0,
  bytes bigint,
  error text,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  completed_at timestamptz(3),
  expires_at timestamptz(3),
  PRIMARY KEY (tenant_id, id)
);

CREATE TABLE tenant_export_pieces (
  tenant_id uuid NOT NULL,
  export_id uuid NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (tenant_id, export_id, n),
  FOREIGN KEY (tenant_id, export_id) REFERENCES tenant_exports (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

-- Deltas come and go: their dead rows are cleared away long before a fifth of the table is dead.
CREATE TABLE analytics_deltas (
  tenant_id uuid NOT NULL,
  id bigserial,
  hour timestamptz(3) NOT NULL,
  discussion_id uuid,
  reader_id uuid,
  metric analytics_metric NOT NULL,
  n integer NOT NULL,
  PRIMARY KEY (tenant_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

CREATE TABLE analytics_buckets (
  tenant_id uuid NOT NULL,
  interval analytics_interval NOT NULL,
  at timestamptz(3) NOT NULL,
  comments_pending integer NOT NULL DEFAULT 0,
  comments_approved integer NOT NULL DEFAULT 0,
  comments_rejected integer NOT NULL DEFAULT 0,
  comments_deleted integer NOT NULL DEFAULT 0,
  reactions integer NOT NULL DEFAULT 0,
  reports integer NOT NULL DEFAULT 0,
  deliveries_pending integer NOT NULL DEFAULT 0,
  deliveries_delivered integer NOT NULL DEFAULT 0,
  deliveries_failed integer NOT NULL DEFAULT 0,
  deliveries_held integer NOT NULL DEFAULT 0,
  deliveries_cancelled integer NOT NULL DEFAULT 0,
  active_readers integer NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, interval, at)
) WITH (fillfactor = 70);

CREATE TABLE analytics_activity (
  tenant_id uuid NOT NULL,
  interval analytics_interval NOT NULL,
  at timestamptz(3) NOT NULL,
  reader_id uuid NOT NULL,
  actions integer NOT NULL,
  comments_approved integer NOT NULL,
  PRIMARY KEY (tenant_id, interval, at, reader_id)
) WITH (fillfactor = 85);

CREATE TABLE analytics_discussions (
  tenant_id uuid NOT NULL,
  at timestamptz(3) NOT NULL,
  discussion_id uuid NOT NULL,
  comments_approved integer NOT NULL,
  PRIMARY KEY (tenant_id, at, discussion_id)
);

CREATE TABLE imports (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  source text NOT NULL,
  file_name text NOT NULL,
  counts jsonb NOT NULL DEFAULT '{}',
  refused jsonb NOT NULL DEFAULT '{}',
  changed jsonb NOT NULL DEFAULT '{}',
  removed jsonb NOT NULL DEFAULT '{}',
  started_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  undone_at timestamptz(3),
  tables jsonb,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE import_items (
  tenant_id uuid NOT NULL,
  key uuid NOT NULL,
  kind text NOT NULL,
  item_id uuid,
  import_id uuid NOT NULL,
  made boolean NOT NULL,
  touched boolean NOT NULL DEFAULT false,
  latest_at timestamptz(3),
  PRIMARY KEY (tenant_id, key),
  FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT import_items_kind CHECK (kind IN ('reader', 'discussion', 'comment', 'name')),
  CONSTRAINT import_items_item CHECK (item_id IS NOT NULL OR kind IN ('reader', 'name'))
);

CREATE TABLE import_waiting (
  tenant_id uuid NOT NULL,
  import_id uuid NOT NULL,
  key uuid NOT NULL,
  comment_key uuid,
  reader_key uuid,
  place text NOT NULL,
  item jsonb NOT NULL,
  PRIMARY KEY (tenant_id, key, import_id),
  FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE backfills (
  name text PRIMARY KEY,
  position jsonb,
  changed bigint NOT NULL DEFAULT 0,
  changed_in_pass bigint NOT NULL DEFAULT 0,
  updated_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  completed_at timestamptz(3),
  passes integer NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- Functions

-- A UUIDv7 for rows that a statement makes by itself. PostgreSQL has one of its own only from version 18.
CREATE FUNCTION new_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

-- Attempts under way at an endpoint, over all workers. Volatile on purpose: called by a statement that has just locked the
-- endpoint, it sees what was committed until then, where the statement itself sees what was there when it began.
CREATE FUNCTION attempts_in_flight(tenant uuid, endpoint uuid) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT count(*) FROM deliveries
    WHERE tenant_id = tenant AND endpoint_id = endpoint AND status = 'delivering' AND next_attempt_at > now());
END
$$;

-- Whether a delivery of a discussion is under way at an endpoint, over all workers. Volatile on purpose, as
-- attempts_in_flight is: it sees what was committed until the endpoint was locked.
CREATE FUNCTION is_in_flight(tenant uuid, endpoint uuid, discussion uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM deliveries
    WHERE tenant_id = tenant AND endpoint_id = endpoint AND status = 'delivering' AND next_attempt_at > now()
      AND discussion_id = discussion);
END
$$;

-- After the row, not before it: a write that waited for the discussion that gave the id up, in the unique index of
-- external ids, began before that discussion's alias was committed. Each statement of this function sees it.
CREATE FUNCTION discussions_refuse_alias() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM discussion_aliases
    WHERE tenant_id = NEW.tenant_id AND external_id = NEW.external_id AND discussion_id <> NEW.id AND expires_at > now();
  IF FOUND THEN
    RAISE unique_violation USING MESSAGE = 'the external id leads to another discussion',
      TABLE = 'discussion_aliases', CONSTRAINT = 'discussion_aliases_pkey';
  END IF;
  RETURN NULL;
END $$;

-- The smallest UUIDv7 of an instant: ids from then on are not below it.
CREATE FUNCTION first_id(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT encode(
    substring(int8send(greatest(0, extract(epoch FROM at) * 1000)::bigint) FROM 3) || '\x70008000000000000000'::bytea,
    'hex')::uuid
$$;

-- Whoever changes what analytics count appends signed deltas in the same transaction; a worker folds them into the
-- tables above. A column that is not listed costs an update nothing: comments change their counters all the time. For
-- the same reason rows that stay in the same place are left out by WHEN, before anything is queued: a lease, an edit.
CREATE FUNCTION analytics_count_comments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_LEVEL = 'STATEMENT' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n)
    SELECT tenant_id, date_trunc('hour', created_at, 'UTC'), discussion_id, author_id,
      ('comments_' || status)::analytics_metric, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END
    FROM changed;
  ELSE
    INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n) VALUES
      (OLD.tenant_id, date_trunc('hour', OLD.created_at, 'UTC'), OLD.discussion_id, OLD.author_id,
        ('comments_' || OLD.status)::analytics_metric, -1),
      (NEW.tenant_id, date_trunc('hour', NEW.created_at, 'UTC'), NEW.discussion_id, NEW.author_id,
        ('comments_' || NEW.status)::analytics_metric, 1);
  END IF;
  RETURN NULL;
END $$;

-- A reaction counts while it is held, in the hour in which it was last set.
CREATE FUNCTION analytics_count_reactions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.type IS NOT NULL THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (OLD.tenant_id, date_trunc('hour', OLD.updated_at, 'UTC'), OLD.reader_id, 'reactions', -1);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.type IS NOT NULL THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (NEW.tenant_id, date_trunc('hour', NEW.updated_at, 'UTC'), NEW.reader_id, 'reactions', 1);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION analytics_count_reports() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (OLD.tenant_id, date_trunc('hour', OLD.created_at, 'UTC'), OLD.reader_id, 'reports', -1);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, reader_id, metric, n)
    VALUES (NEW.tenant_id, date_trunc('hour', NEW.created_at, 'UTC'), NEW.reader_id, 'reports', 1);
  END IF;
  RETURN NULL;
END $$;

-- A delivery that is being attempted is pending still. One that goes away with its time or its endpoint keeps the outcome
-- that it had; where it had none, it is cancelled.
CREATE FUNCTION analytics_count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, metric, n)
    SELECT tenant_id, date_trunc('hour', created_at, 'UTC'),
      CASE status WHEN 'delivering' THEN 'deliveries_pending' ELSE ('deliveries_' || status)::analytics_metric END, count(*)
    FROM changed GROUP BY 1, 2, 3;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO analytics_deltas (tenant_id, hour, metric, n)
    SELECT c.tenant_id, date_trunc('hour', c.created_at, 'UTC'), m.metric, sum(m.n)
    FROM changed c CROSS JOIN LATERAL (VALUES
      (CASE c.status WHEN 'held' THEN 'deliveries_held' ELSE 'deliveries_pending' END::analytics_metric, -1),
      ('deliveries_cancelled', 1)
    ) m(metric, n)
    WHERE c.status IN ('pending', 'delivering', 'held')
    GROUP BY 1, 2, 3;
  ELSE
    INSERT INTO analytics_deltas (tenant_id, hour, metric, n) VALUES
      (OLD.tenant_id, date_trunc('hour', OLD.created_at, 'UTC'),
        CASE OLD.status WHEN 'delivering' THEN 'deliveries_pending' ELSE ('deliveries_' || OLD.status)::analytics_metric END, -1),
      (NEW.tenant_id, date_trunc('hour', NEW.created_at, 'UTC'),
        CASE NEW.status WHEN 'delivering' THEN 'deliveries_pending' ELSE ('deliveries_' || NEW.status)::analytics_metric END, 1);
  END IF;
  RETURN NULL;
END $$;

-- A fold writes several rows for each delta, all of one tenant: it locks the tenant once, where a foreign key looks the
-- tenant up for each row. What the key did with the rows of a tenant that goes, this does. It waits for a fold under
-- way, also of a release that does not lock the tenant. The next fold removes the deltas.
CREATE FUNCTION analytics_remove_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('analytics ' || OLD.id, 0));
  DELETE FROM analytics_activity WHERE tenant_id = OLD.id;
  DELETE FROM analytics_discussions WHERE tenant_id = OLD.id;
  DELETE FROM analytics_buckets WHERE tenant_id = OLD.id;
  RETURN NULL;
END $$;

-- Triggers

CREATE TRIGGER analytics_comments_created AFTER INSERT ON comments
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analytics_count_comments();
CREATE TRIGGER analytics_comments_gone AFTER DELETE ON comments
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analytics_count_comments();
CREATE TRIGGER analytics_comments_moved AFTER UPDATE OF status, author_id, discussion_id, created_at ON comments
  FOR EACH ROW WHEN (
    (OLD.status, OLD.author_id, OLD.discussion_id, OLD.created_at)
      IS DISTINCT FROM (NEW.status, NEW.author_id, NEW.discussion_id, NEW.created_at))
  EXECUTE FUNCTION analytics_count_comments();

CREATE TRIGGER analytics_reactions_given AFTER INSERT ON reactions
  FOR EACH ROW WHEN (NEW.type IS NOT NULL) EXECUTE FUNCTION analytics_count_reactions();
CREATE TRIGGER analytics_reactions_gone AFTER DELETE ON reactions
  FOR EACH ROW WHEN (OLD.type IS NOT NULL) EXECUTE FUNCTION analytics_count_reactions();
CREATE TRIGGER analytics_reactions_moved AFTER UPDATE OF type, reader_id, updated_at ON reactions
  FOR EACH ROW WHEN (
    (CASE WHEN OLD.type IS NOT NULL THEN date_trunc('hour', OLD.updated_at, 'UTC') END, OLD.reader_id)
      IS DISTINCT FROM (CASE WHEN NEW.type IS NOT NULL THEN date_trunc('hour', NEW.updated_at, 'UTC') END, NEW.reader_id))
  EXECUTE FUNCTION analytics_count_reactions();

CREATE TRIGGER analytics_reports_made AFTER INSERT OR DELETE ON reports
  FOR EACH ROW EXECUTE FUNCTION analytics_count_reports();
CREATE TRIGGER analytics_reports_moved AFTER UPDATE OF reader_id, created_at ON reports
  FOR EACH ROW WHEN ((OLD.reader_id, OLD.created_at) IS DISTINCT FROM (NEW.reader_id, NEW.created_at))
  EXECUTE FUNCTION analytics_count_reports();

CREATE TRIGGER analytics_deliveries_made AFTER INSERT ON deliveries
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analytics_count_deliveries();
CREATE TRIGGER analytics_deliveries_gone AFTER DELETE ON deliveries
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analytics_count_deliveries();
CREATE TRIGGER analytics_deliveries_moved AFTER UPDATE OF status, created_at ON deliveries
  FOR EACH ROW WHEN (
    (CASE OLD.status WHEN 'delivering' THEN 'pending' ELSE OLD.status END, OLD.created_at)
      IS DISTINCT FROM (CASE NEW.status WHEN 'delivering' THEN 'pending' ELSE NEW.status END, NEW.created_at))
  EXECUTE FUNCTION analytics_count_deliveries();

CREATE TRIGGER tenants_gone AFTER DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION analytics_remove_tenant();

CREATE TRIGGER discussions_no_alias AFTER INSERT OR UPDATE OF external_id ON discussions
  FOR EACH ROW EXECUTE FUNCTION discussions_refuse_alias();

-- Indexes

CREATE UNIQUE INDEX tenants_slug_key ON tenants (slug);

CREATE UNIQUE INDEX admins_email_key ON admins (email);

CREATE UNIQUE INDEX api_keys_digest_key ON api_keys (digest);

CREATE UNIQUE INDEX client_tokens_digest_key ON client_tokens (digest);
CREATE INDEX client_tokens_tenant_id_expires_at_idx ON client_tokens (tenant_id, expires_at);
CREATE INDEX client_tokens_of_reader ON client_tokens (tenant_id, reader_id, expires_at) WHERE reader_id IS NOT NULL;

CREATE INDEX identity_key_sets_due_at_idx ON identity_key_sets (due_at);

CREATE UNIQUE INDEX readers_tenant_id_external_id_key ON readers (tenant_id, external_id);
CREATE INDEX readers_erasing ON readers (erasing_at) WHERE erasing_at IS NOT NULL;
CREATE INDEX readers_search ON readers USING GIN (search);

CREATE UNIQUE INDEX reader_merges_tenant_id_alias_id_key ON reader_merges (tenant_id, alias_id);
CREATE INDEX reader_merges_tenant_id_into_id_idx ON reader_merges (tenant_id, into_id);
CREATE INDEX reader_merges_under_way ON reader_merges (merging_at) WHERE merging_at IS NOT NULL;

CREATE INDEX discussions_tenant_id_active_at_id_idx ON discussions (tenant_id, active_at, id);
CREATE UNIQUE INDEX discussions_tenant_id_external_id_key ON discussions (tenant_id, external_id);
CREATE INDEX discussions_to_close ON discussions (tenant_id, created_at)
  WHERE auto_closed_at IS NULL AND state <> 'archived';
CREATE INDEX discussions_search ON discussions USING GIN (search);

CREATE INDEX discussion_aliases_tenant_id_discussion_id_idx ON discussion_aliases (tenant_id, discussion_id);
CREATE INDEX discussion_aliases_expires_at_idx ON discussion_aliases (expires_at);

CREATE INDEX comments_shown ON comments (tenant_id, discussion_id, parent_id, pinned_at NULLS FIRST, id)
  WHERE status = 'approved' OR reply_count > 0;
CREATE INDEX comments_shown_top ON comments (tenant_id, discussion_id, parent_id, reaction_count, reply_count, id)
  WHERE status = 'approved' OR reply_count > 0;
CREATE INDEX comments_to_moderate ON comments (tenant_id, status, id) WHERE status IN ('pending', 'rejected');
CREATE INDEX comments_tenant_id_author_id_id_idx ON comments (tenant_id, author_id, id);
CREATE INDEX comments_reported ON comments (tenant_id, id) WHERE report_count > reports_answered OR flagged;
CREATE INDEX comments_replies ON comments (tenant_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX comments_to_moderate_of_discussion ON comments (tenant_id, discussion_id, status, id)
  WHERE status IN ('pending', 'rejected');
CREATE INDEX comments_reported_of_discussion ON comments (tenant_id, discussion_id, id)
  WHERE report_count > reports_answered OR flagged;

CREATE INDEX classifier_requests_tenant_id_due_at_idx ON classifier_requests (tenant_id, due_at);

CREATE INDEX document_aliases_tenant_id_document_id_idx ON document_aliases (tenant_id, document_id);

CREATE INDEX reactions_tenant_id_reader_id_comment_id_idx ON reactions (tenant_id, reader_id, comment_id);
CREATE INDEX reactions_held ON reactions (tenant_id, comment_id, type, updated_at, reader_id) WHERE type IS NOT NULL;

CREATE INDEX shadow_reactions_tenant_id_reader_id_idx ON shadow_reactions (tenant_id, reader_id);

CREATE INDEX reports_tenant_id_reader_id_comment_id_idx ON reports (tenant_id, reader_id, comment_id);
CREATE INDEX reports_by_time ON reports (tenant_id, comment_id, created_at, reader_id);

CREATE INDEX events_tenant_id_occurred_at_idx ON events (tenant_id, occurred_at);
CREATE INDEX events_to_recipient ON events (tenant_id, recipient_id, id) WHERE recipient_id IS NOT NULL;

CREATE INDEX stream_counts_process_id_idx ON stream_counts (process_id);

CREATE INDEX endpoints_to_verify ON webhook_endpoints (verification_due_at) WHERE verification_due_at IS NOT NULL;

CREATE INDEX deliveries_tenant_id_endpoint_id_id_idx ON deliveries (tenant_id, endpoint_id, id);
CREATE INDEX deliveries_tenant_id_event_id_idx ON deliveries (tenant_id, event_id);
CREATE INDEX deliveries_due ON deliveries (tenant_id, endpoint_id, is_replay, next_attempt_at)
  WHERE status IN ('pending', 'delivering');
CREATE INDEX deliveries_in_order ON deliveries (tenant_id, endpoint_id, discussion_id, seq, id)
  WHERE status IN ('pending', 'delivering', 'held');
CREATE INDEX deliveries_in_flight ON deliveries (tenant_id, endpoint_id, next_attempt_at) WHERE status = 'delivering';
CREATE INDEX deliveries_held ON deliveries (tenant_id, endpoint_id, id) WHERE status = 'held';
CREATE INDEX deliveries_failed ON deliveries (tenant_id, endpoint_id, id) WHERE status = 'failed';

CREATE INDEX audit_log_tenant_id_action_id_idx ON audit_log (tenant_id, action, id);
CREATE INDEX audit_log_tenant_id_actor_id_id_idx ON audit_log (tenant_id, actor_id, id);
CREATE INDEX audit_log_tenant_id_target_id_id_idx ON audit_log (tenant_id, target_id, id);
CREATE INDEX audit_log_of_readers ON audit_log (tenant_id, target_id, id)
  WHERE target_type = 'reader' AND (before IS NOT NULL OR after IS NOT NULL);

CREATE INDEX idempotency_records_expires_at_idx ON idempotency_records (expires_at);
CREATE INDEX idempotency_records_mentions_idx ON idempotency_records USING GIN (mentions);

CREATE INDEX tenant_exports_waiting ON tenant_exports (id) WHERE expires_at IS NULL;

CREATE INDEX import_items_readers ON import_items (tenant_id, item_id) WHERE kind = 'reader';
CREATE INDEX import_items_touched ON import_items (tenant_id, item_id) WHERE touched;
CREATE INDEX import_items_names ON import_items (tenant_id, import_id) WHERE kind = 'name';
CREATE INDEX import_waiting_comments ON import_waiting (tenant_id, comment_key, import_id);
CREATE INDEX import_waiting_readers ON import_waiting (tenant_id, reader_key);
