/** Words that a publisher may ban, sentences that say nothing of them, and some that do. */
export interface Corpus {
  entries: readonly string[]
  harmless: readonly string[]
  hits: readonly string[]
}

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const corpus = (entries: string, harmless: string, hits: string): Corpus => ({
  entries: entries.split('|'),
  harmless: lines(harmless),
  hits: lines(hits),
})

/** By language. Each has words that differ from its entries in a letter, an accent or an ending. */
export const CORPORA: Readonly<Record<string, Corpus>> = {
  English: corpus(
    'ass|tit|hell|cum|C++|18+|a$$|*idiot*|f*ck|buy now',
    `The class assessed the grass by the embassy.
     A title was printed on the constitution.
     Hello from the shell of a seashell seller.
     The document has accumulated circumstances.
     He got a C in chemistry, and a plus in maths.
     She is 18 today and plans a party.
     My asset is the passion for classical music.
     The titan sat by the appetite of others.
     You can buy it right now at the market.
     The truck was stuck in the muck.
     We buy bread; nowhere is it better.
     His grasses are greener than hers.
     Sussex and Essex are counties in England.
     That was a hellenic vase, not a Roman one.
     The cucumber salad needs salt and vinegar.
     A $ sign stands before each price.
     Good evening, and thank you for the article.
     I passed my exam at the first attempt.
     The cat sat on the mat and looked at us.
     Is there a way to read this without an account?`,
    `You ASS!
     What the h\u200Bell is this
     only idiots say so
     f*ck that
     I like C++ a lot
     an a$$ like you
     Please buy  now!`,
  ),
  German: corpus(
    'schwul|arsch|depp|dumm|fotze|schön*|*blöd*|nutte',
    `Es ist heute schwül und windstill.
     Der Marsch durch den Harsch war lang.
     Das Dickicht am Weg ist dicht.
     Im Deppendorf steht eine alte Kirche.
     Der Dummy im Auto trug einen Gurt.
     Die Schwüle lässt gegen Abend nach.
     Sie hat schon wieder gewonnen.
     Das blonde Kind spielt im Sand.
     Wir haben den Barsch selbst geangelt.
     Die Nüsse liegen im Keller.
     Er fährt mit dem Fahrrad nach Köln.
     Die Straße ist wegen Bauarbeiten gesperrt.
     Über den Preis lässt sich reden.
     Mein Großvater war Müller in Füssen.
     Können Sie die Quelle bitte nennen?
     Das Stück dauert zwei Stunden.
     Ein schonender Umgang mit Wasser hilft allen.
     Am Ufer blüht der Mohn.
     Die Gemüter haben sich beruhigt.
     Vielen Dank für den guten Artikel!`,
    `So ein ARSCH!
     wie dumm ist das denn
     schöne Grüße
     dieser Blödsinn
     du D\u00ADepp`,
  ),
  French: corpus(
    'con|pute|cul|salope|pédé|dégénéré|*merde*|bite',
    `Le concert a lieu au conservatoire.
     La députée a réputé son calme.
     Le calcul du recul est difficile.
     Il pète le feu ce matin.
     Un cône de glace coûte deux euros.
     Je conçois que cela surprenne.
     Le dégénérateur est en panne.
     Il habite à côté de la bibliothèque.
     L'arbitre a sifflé la fin du match.
     Nous avons marché jusqu'à la mer de Glace.
     La culture du lin recule.
     Il faut mâcher avant d'avaler.
     L'été dernier, nous étions à l'île de Ré.
     Les élèves ont préparé un goûter.
     Où se trouve la gare, s'il vous plaît ?
     Le cœur du sujet est ailleurs.
     Ça ne fait rien, merci beaucoup.
     Le procès a été reporté à lundi.
     Un château fort domine la vallée.
     Je ne suis pas d'accord, mais l'article est bon.`,
    `quel con !
     espèce de PÉDÉ
     c'est emmerdant, merde
     un dégénéré
     la PUTE`,
  ),
  Spanish: corpus(
    'ano|cono|puta|coño|cabrón|polla|*mierda*|pico',
    `Feliz año nuevo a todos.
     Hace dos años vivimos aquí.
     El cañón del río es profundo.
     La diputada disputa el escaño.
     Un repollo y dos pollos, por favor.
     El cabroncillo no, el cordero sí.
     El picor de la comida es fuerte.
     Mañana iremos a la montaña.
     La niña sueña con una piñata.
     El otoño empieza en septiembre.
     El español se habla en muchos países.
     ¿Qué opinan ustedes de esta noticia?
     El baño está al fondo a la derecha.
     La reputación de la empresa es buena.
     El computador nuevo es rápido.
     Se conoce el resultado desde ayer.
     El dueño del perro es mi vecino.
     Un pequeño paso cada día.
     Hoy hace mucho frío en la peña.
     Gracias por el artículo, muy útil.`,
    `¡Qué PUTA!
     eres un cabrón
     vaya mierdas
     coño, otra vez
     el año de tu ano`,
  ),
  Portuguese: corpus(
    'cocô|pau|cu|puta|bicha|*porra*|merda|cagão',
    `Água de coco gelada faz bem.
     O coco caiu da árvore.
     São Paulo é uma cidade grande.
     A cultura do país é rica.
     O deputado disputa a eleição.
     O bicho da maçã é pequeno.
     A cuíca toca no samba.
     O pão está quente.
     A avó e o avô moram aqui.
     Ele não vem amanhã.
     As crianças estão na escola.
     O computador parou de funcionar.
     Você gosta de açúcar no café?
     Nós vamos à praia no verão.
     O caju amadureceu cedo.
     A ação foi rápida e eficaz.
     Obrigado pela informação.
     O coração bate forte.
     Minha irmã é médica.
     Este artigo é muito bom.`,
    `isso é cocô
     que MERDA
     filho da puta
     esporrar, porra
     seu cagão`,
  ),
  Italian: corpus(
    'culo|cazzo|fica|merda|però sporco|stronzo|troia',
    `Il calcolo è giusto.
     Il ricolo non esiste, il ridicolo sì.
     Un cazzotto non risolve niente.
     La fatica è grande ma la vita è bella.
     La pacifica convivenza è possibile.
     Il circolo si riunisce il lunedì.
     Era tutto sporco, però economico.
     La città è più bella di sera.
     Perché non vieni con noi?
     Il caffè è già pronto.
     Lo stronzio è un metallo alcalino terroso.
     Domani andremo al mare.
     Il signor Fichera abita qui.
     La storia di Troiano è antica.
     Una merenda per i bambini.
     Le università italiane sono antiche.
     È un'ottima notizia.
     L'articolo mi è piaciuto molto.
     Dov'è la stazione?
     Ci vediamo martedì.`,
    `che CAZZO vuoi
     vai a fare in culo
     che mèrda
     però sporco`,
  ),
  Polish: corpus(
    'dupa|sraka|cipa|los|kurwa|*pierdol*|zad|łotr',
    `Duża łopata stoi w stodole.
     Łoś wyszedł z lasu na łąkę.
     Sroka usiadła na dachu.
     Zadanie domowe jest trudne.
     Ciapa to nie obelga w tej książce.
     Mój brat lubi żółty ser.
     Dziś świeci słońce.
     Pierogi są bardzo dobre.
     Kurczak piecze się godzinę.
     Złoty pierścień zginął.
     Ósma klasa pisze egzamin.
     Wrócę późno w nocy.
     Chłopiec czyta książkę.
     Lotr i elfy to bohaterowie powieści.
     Gdzie jest najbliższy sklep?
     Dziękuję za ciekawy artykuł.
     Łódka płynie po jeziorze.
     Mała mysz zjadła ser.
     W Łodzi pada deszcz.
     Cisza jest złotem.`,
    `co za DUPA
     kurwa mać
     pierdolony
     ty łotrze, łotr
     cípa`,
  ),
  Czech: corpus(
    'kurva|prdel|kokot|vůl|*debil*|hovado',
    `Kurz vaření začíná v pondělí.
     Kurník stojí za domem.
     Vul kanický popel padal dlouho.
     Kokos je tvrdý ořech.
     Hovězí polévka je hotová.
     Přijdu až večer.
     Žluťoučký kůň úpěl ďábelské ódy.
     Děti si hrají na hřišti.
     Dnes je krásné počasí.
     Kde je nejbližší nádraží?
     Řeka se vylila z břehů.
     Mám rád černý čaj.
     Víno je z jižní Moravy.
     Vlak má zpoždění.
     Babička peče koláče.
     Můj pes je velký.
     Debata trvala dvě hodiny.
     Děkuji za článek.
     Prodej lístků začal.
     Zítra bude pršet.`,
    `ty KURVO, kurva
     ty vůl
     debilní nápad
     kurvá`,
  ),
  Hungarian: corpus(
    'segg|geci|picsa|hülye|*kurv*|fasz',
    `A segítség mindig jól jön.
     A hűvös szél fúj.
     A csapat tíz fős volt.
     Pici a szoba, de szép.
     A kürtő kormos.
     Holnap esni fog.
     A könyv az asztalon van.
     Kérek egy kávét.
     A macska az ágyon alszik.
     Nagyon köszönöm a cikket.
     Az őz kifutott az útra.
     Ősszel hullanak a levelek.
     A gyerekek iskolába mennek.
     Hol van az állomás?
     A leves forró.
     A fazék a tűzhelyen áll.
     Jó reggelt mindenkinek!
     A hulla halk film, jó zene.
     A kutya ugat az udvaron.
     A ház előtt fa áll.`,
    `te HÜLYE
     nagy segg
     kurvára
     FASZ`,
  ),
  Swedish: corpus(
    'kuk|fan|hora|fitta|röv|bog|*jävl*',
    `Kakan är nybakad.
     Fånen är inte här, men fåglarna är.
     Hören ni klockorna?
     Rov djur jagar på natten.
     Bögen och bågen är inte samma ord.
     Fåren betar på ängen.
     En kåk vid sjön.
     Fanor vajar i vinden.
     Vi åker till Åland i morgon.
     Det är kallt ute idag.
     Båten går klockan åtta.
     Hur mår din mormor?
     Jag läser en bok om hästar.
     Ön ligger långt bort.
     Tack för en bra artikel.
     Älgen står på vägen.
     Fittja är en förort.
     Barnen bygger en snögubbe.
     Smörgåsen är god.
     Var ligger stationen?`,
    `FAN också
     din HORA
     jävligt
     stor röv`,
  ),
  Danish: corpus(
    'rov|lort|pik|fisse|*svin*|ko',
    `Røven er et gammelt ord for bytte.
     En løve sov i solen.
     Køb mælk på vejen hjem.
     Køen var lang i dag.
     Kø ved kassen igen.
     Lorentz bor i Århus.
     Pigen spiser et æble.
     Rødgrød med fløde smager godt.
     Vi ses på lørdag.
     Hvor er banegården?
     Båden sejler klokken ti.
     Han løber hver morgen.
     Det regner i København.
     Tak for artiklen.
     Børnene leger i haven.
     Øen er grøn om sommeren.
     Fiskene svømmer i åen.
     Hun læser en bog.
     Pikant sovs til kødet.
     Koen er ikke her, men kalven er.`,
    `det er LORT
     din ko
     svineri
     PIK`,
  ),
  Finnish: corpus(
    'paska|vittu|perse|homo|*huora*|tahma',
    `Päätä ei paleltunut talvella.
     Pääskynen lentää matalalla.
     Persikka on makea hedelmä.
     Homogeeninen seos on valmis.
     Tähmä ei ole sana, mutta tahmea on.
     Hän asuu Helsingissä.
     Sää on tänään kaunis.
     Missä on rautatieasema?
     Kiitos hyvästä artikkelista.
     Lapset leikkivät pihalla.
     Järvi on jäässä.
     Yö oli pimeä ja hiljainen.
     Minä juon kahvia.
     Persian kissa nukkuu.
     Metsässä kasvaa mustikoita.
     Kesä tulee pian.
     Talo on punainen.
     Hän lukee kirjaa.
     Vittorio on italialainen nimi.
     Huomenna sataa lunta.`,
    `voi VITTU
     paska!
     huoran poika, huora
     homo`,
  ),
  Turkish: corpus(
    'sik|göt|am|salak|sıkıcı|aptal|*piç*',
    `Şık bir elbise giymiş.
     Sık sık geliriz buraya.
     Sıkı tutun, düşme.
     Götür beni eve.
     Ama bu doğru değil.
     Amca bugün geldi.
     Işık söndü, ev karanlık.
     İstanbul güzel bir şehir.
     ISPARTA GÜLLERİ ÜNLÜ.
     Salatalık ve domates aldım.
     Çok teşekkür ederim.
     Yarın yağmur yağacak.
     Iğdır'da hava sıcak.
     Öğretmen sınıfa girdi.
     Ünlü yazar kitabını imzaladı.
     Bu yazı çok güzel olmuş.
     İstasyon nerede?
     Kızım üniversiteye gidiyor.
     Ağaçlar çiçek açtı.
     GÜNEŞLİ BİR GÜN.`,
    `SALAK!
     bu SIKICI bir film
     sıkıcı
     piçler
     APTAL mısın`,
  ),
  Vietnamese: corpus(
    'cặc|đĩ|lồn|ngu|đéo|*địt*|chó chết|an',
    `Thành phố lớn nhất nước.
     Các bạn đọc bài này chưa?
     Đi chợ mua rau.
     Ngủ sớm cho khỏe.
     Ngữ pháp tiếng Việt khó.
     Đeo kính khi đọc sách.
     Con chó chạy ngoài sân.
     Anh ấy ăn cơm rồi.
     Ăn cơm chưa?
     Ấn tượng đầu tiên rất tốt.
     Án phí do bên thua trả rồi nộp.
     Trời hôm nay đẹp quá.
     Cảm ơn bài viết hay.
     Ga tàu ở đâu vậy?
     Đường này đông xe.
     Mẹ tôi nấu phở ngon.
     Dì tôi sống ở Huế.
     Lợn nuôi ở nông thôn.
     Nước chảy đá mòn.
     Học, học nữa, học mãi.`.replace('Án phí do bên thua trả rồi nộp.', 'Ẩn số của bài toán là gì?'),
    `đồ CẶC này
     con đĩ
     đồ ngu
     địtmẹ
     đồ chó chết`,
  ),
  Indonesian: corpus(
    'anjing|babi|tai|goblok|*bangsat*|asu',
    `Pantai itu indah sekali.
     Rantai sepeda putus.
     Babinsa datang ke desa.
     Asumsi itu keliru.
     Asuransi mobil mahal.
     Saya makan nasi goreng.
     Di mana stasiun?
     Terima kasih atas artikelnya.
     Hujan turun sejak pagi.
     Anak-anak bermain di halaman.
     Buku ini sangat menarik.
     Kereta berangkat pukul delapan.
     Anjungan kapal itu tinggi.
     Bangsa ini besar.
     Kami tinggal di Bandung.
     Pintu itu terbuka.
     Kucing tidur di kursi.
     Besok hari Senin.
     Air minum ada di meja.
     Mereka masuk sekolah.`,
    `dasar ANJING
     goblok!
     kebangsatan
     asu`,
  ),
  Greek: corpus(
    'μαλακας|σκατα|πουστη|κωλος|*γαμω*|πόρνη',
    `Η μαλακή πέτρα σπάει εύκολα.
     Το σκάκι είναι ωραίο παιχνίδι.
     Ο κόλπος είναι ήρεμος.
     Πού είναι ο σταθμός;
     Ευχαριστώ για το άρθρο.
     Ο καιρός είναι καλός σήμερα.
     Η θάλασσα είναι γαλάζια.
     Τα παιδιά παίζουν στην αυλή.
     Το βιβλίο είναι στο τραπέζι.
     Η πόρτα είναι ανοιχτή.
     Πότε φεύγει το πλοίο;
     Ποτέ δεν το είδα.
     Ο γάμος ήταν όμορφος.
     Η ΑΘΗΝΑ ΕΙΝΑΙ ΜΕΓΑΛΗ.
     Το ψωμί είναι φρέσκο.
     Μου αρέσει ο καφές.
     Αύριο θα βρέξει.
     Η γάτα κοιμάται.
     Το κόλλημα πέρασε.
     Ο δάσκαλος μιλάει.`,
    `ρε ΜΑΛΑΚΑΣ
     μαλάκας
     σκατά
     αγαμώτο`,
  ),
  Russian: corpus(
    'хуй|бля|сука|дурак|мои|*пизд*|лох',
    `Мой брат живёт в Москве.
     Сукно лежит на столе.
     Дурман растёт у дороги.
     Бляха на ремне блестит.
     Лохматый пёс спит.
     Ёлка стоит в углу.
     Йод продаётся в аптеке.
     Сегодня хорошая погода.
     Где находится вокзал?
     Спасибо за статью.
     Дети играют во дворе.
     Завтра будет дождь.
     Книга лежит на столе.
     Чай уже остыл.
     Музей открыт до шести.
     Мы поехали на дачу.
     Застрахуйте машину заранее.
     Поезд опаздывает.
     Кошка сидит на окне.
     Это очень интересно.`,
    `ХУЙ вам
     сука!
     дура́к
     распиздяй
     это мои`,
  ),
  Ukrainian: corpus(
    "курва|дурень|сука|м'яч|її|*гівн*",
    `Курка знесла яйце.
     Сукня дуже гарна.
     Дурниця, не зважай.
     Їжак бігає в саду.
     Дякую за статтю.
     Де знаходиться вокзал?
     Сьогодні гарна погода.
     Діти грають у дворі.
     Завтра буде дощ.
     Книга лежить на столі.
     Я п'ю каву зранку.
     Ґанок потребує ремонту.
     Поїзд запізнюється.
     Мяч без апострофа тут не пишуть.
     Кішка спить на дивані.
     Ліс шумить увечері.
     Київ — велике місто.
     Мені подобається музика.
     Він іі не знає.
     Хліб свіжий і смачний.`,
    `КУРВА
     це м’яч
     гівняний
     її слова`,
  ),
  Arabic: corpus(
    'كلب|حمار|غبي|*خنزير*|أحمق|كس',
    `الكلاب تحرس البيت.
     كسر الولد الزجاج.
     الطقس جميل اليوم.
     أين تقع المحطة؟
     شكرا على المقال.
     يلعب الأطفال في الحديقة.
     الكتاب على الطاولة.
     غبت عن المدرسة أمس.
     القطار متأخر.
     أحمد يقرأ الجريدة.
     القهوة ساخنة.
     السماء زرقاء.
     نسافر غدا إلى القاهرة.
     حمل الرجل حقيبته.
     أحب الموسيقى.
     اللغة العربية جميلة.
     البيت كبير وواسع.
     كلنا نعرف ذلك.
     المطر ينزل بغزارة.
     أكل الطفل التفاحة.`,
    `يا كَلْب
     أنت غبي!
     والخنزيرة
     أحمق`,
  ),
  Hebrew: corpus(
    'כלב|טיפש|זונה|*מטומטם*|חרא',
    `הכלבים נובחים בלילה.
     מזג האוויר יפה היום.
     איפה נמצאת התחנה?
     תודה על הכתבה.
     הילדים משחקים בחצר.
     הספר על השולחן.
     מזון טוב לכולם.
     הרכבת מאחרת.
     אני שותה קפה.
     השמים כחולים.
     מחר יירד גשם.
     הבית גדול ויפה.
     אני אוהב מוזיקה.
     החתול ישן.
     הלחם טרי.
     הים רגוע.
     המורה מדברת.
     זונחים את הרעיון.
     אחרי החגים נדבר.
     שלום לכולם.`,
    `כֶּלֶב
     איזה טיפש!
     המטומטמים
     זונה`,
  ),
  Hindi: corpus(
    'कुत्ता|गधा|कमीना|*चूतिया*|कि',
    `कुत्ते की आवाज़ आई।
     का और की में फ़र्क़ है।
     मौसम आज अच्छा है।
     स्टेशन कहाँ है?
     लेख के लिए धन्यवाद।
     बच्चे मैदान में खेल रहे हैं।
     किताब मेज़ पर है।
     गाड़ी देर से आएगी।
     मुझे संगीत पसंद है।
     चाय गरम है।
     कल बारिश होगी।
     कमी नहीं है किसी चीज़ की।
     आकाश नीला है।
     घर बड़ा है।
     गधे ने घास खाई।
     बिल्ली सो रही है।
     रोटी ताज़ी है।
     दिल्ली बड़ा शहर है।
     नदी बह रही है।
     वह पढ़ रहा है।`,
    `तू गधा है
     कुत्ता!
     महाचूतियापा
     उसने कहा कि`,
  ),
  Chinese: corpus(
    '傻瓜|混蛋|坏话|*操你*|垃圾',
    `大家好，今天天气很好。
     车站在哪里？
     谢谢你的文章。
     孩子们在院子里玩。
     书在桌子上。
     火车晚点了。
     我喜欢音乐。
     明天会下雨。
     他在操场上跑步。
     这道菜混合了很多味道。
     坏了的话就换一个。
     瓜很甜。
     北京是一个大城市。
     猫在睡觉。
     面包很新鲜。
     我们去海边吧。
     老师在说话。
     这个问题很有意思。
     请问现在几点？
     他体操得了第一名。`,
    `你这个傻瓜
     他说了坏话了
     我操你
     全是垃圾！`,
  ),
  Japanese: corpus(
    'グロ|デブ|死ね|バカ|ばか|*クソ*|カス',
    `グローバル企業の話です。
     宇宙デブリの問題は深刻だ。
     カステラはおいしい。
     必死になって走った。
     カスピ海は湖である。
     今日は天気がいいですね。
     駅はどこですか。
     記事をありがとうございます。
     子供たちが庭で遊んでいる。
     本は机の上にあります。
     電車が遅れています。
     音楽が好きです。
     明日は雨でしょう。
     猫が寝ている。
     パンは焼きたてです。
     海へ行きましょう。
     先生が話している。
     東京は大きい都市です。
     カスタードが入っている。
     バカンスは南の島で過ごす。`,
    `それはグロい
     グロ画像
     おまえはばかだ
     お前はﾊﾞｶだ
     クソゲー
     死ね`,
  ),
  Korean: corpus(
    '바보|개새끼|멍청이|*시발*|씨발*|닥쳐',
    `오늘 날씨가 좋네요.
     역이 어디에 있어요?
     기사 잘 읽었습니다.
     아이들이 마당에서 놀아요.
     책은 책상 위에 있어요.
     기차가 늦었어요.
     음악을 좋아해요.
     내일은 비가 올 거예요.
     고양이가 자고 있어요.
     빵이 신선해요.
     바다에 가요.
     선생님이 말하고 있어요.
     서울은 큰 도시예요.
     바보들의 행진은 영화 제목이다.
     개가 새끼를 낳았다.
     커피가 뜨거워요.
     문이 닥치는 대로 열렸다.
     집이 커요.
     하늘이 파래요.
     감사합니다.`,
    `야 바보!
     이시발점
     씨발놈
     닥쳐`,
  ),
  Thai: corpus(
    'โง่|ควาย|เหี้ย|*สัส*|ตาย|ก',
    `วันนี้อากาศดีมาก
     สถานีอยู่ที่ไหน
     ขอบคุณสำหรับบทความ
     เด็กๆ เล่นในสวน
     หนังสืออยู่บนโต๊ะ
     รถไฟมาช้า
     ฉันชอบดนตรี
     พรุ่งนี้ฝนจะตก
     แมวกำลังนอน
     ขนมปังสดใหม่
     ไปทะเลกันเถอะ
     ครูกำลังพูด
     กรุงเทพเป็นเมืองใหญ่
     น้ำดื่มอยู่ในตู้เย็น
     สายตายาวต้องใส่แว่น
     บ้านหลังนี้ใหญ่
     ท้องฟ้าสีฟ้า
     กาแฟร้อน
     เขาอ่านหนังสือ
     มีความสุขมาก`,
    `คนโง่มาก
     ไอ้ควาย
     เหี้ย!
     ไอสัสเอ๊ย`,
  ),
}
