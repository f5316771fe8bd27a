"""A full resume in each language: every section and every field of JSON Resume is used."""

from mcp_tools.resume import JsonObject

CHINESE: JsonObject = {
    "basics": {
        "name": "林晓雨",
        "label": "资深后端工程师 · 支付与风控",
        "image": "https://example.com/photo.jpg",
        "email": "xiaoyu.lin@example.com",
        "phone": "+86 138 0000 1234",
        "url": "https://linxiaoyu.example.com",
        "summary": "八年后端研发经验，专注高可用支付系统与实时风控。"
        "主导过日均 3 亿笔交易的清结算平台重构，"
        "熟悉 Go、Java 与分布式事务。\n重视工程质量与团队成长，习惯用数据说话，“先度量，再优化”。",
        "location": {
            "address": "世纪大道 100 号",
            "postalCode": "200120",
            "city": "浦东新区",
            "countryCode": "CN",
            "region": "上海市",
        },
        "profiles": [
            {"network": "GitHub", "username": "linxy", "url": "https://github.com/linxy"},
            {
                "network": "知乎",
                "username": "小雨不加班",
                "url": "https://www.zhihu.com/people/lxy",
            },
        ],
    },
    "work": [
        {
            "name": "腾讯科技（深圳）有限公司",
            "position": "资深后端工程师",
            "location": "深圳",
            "description": "微信支付，国内最大的移动支付平台之一。",
            "url": "https://pay.weixin.qq.com",
            "startDate": "2021-07",
            "summary": "负责跨境支付清结算平台的架构与交付，带领 6 人小组。",
            "highlights": [
                "将清算批处理由 4 小时缩短到 25 分钟，资损事件连续 18 个月为零",
                "设计基于 TCC 与本地消息表的分布式事务方案，覆盖 12 个核心服务，峰值 8.6 万 TPS",
                "建立全链路压测与混沌演练机制，核心接口可用性由 99.95% 提升到 99.995%",
            ],
        },
        {
            "name": "美团",
            "position": "后端工程师",
            "location": "北京",
            "startDate": "2017-07",
            "endDate": "2021-06",
            "summary": "参与风控决策引擎与商家结算系统的研发。",
            "highlights": [
                "实现规则热更新，策略上线时间由 2 天缩短到 10 分钟",
                "优化 Flink 实时特征计算，延迟 P99 由 800 ms 降到 90 ms",
            ],
        },
    ],
    "projects": [
        {
            "name": "ledger-kit 开源记账引擎",
            "description": "面向多币种场景的双分录记账库，GitHub 2.4k stars。",
            "highlights": ["支持快照与增量对账", "内置幂等与冲正语义"],
            "keywords": ["Go", "PostgreSQL", "gRPC"],
            "startDate": "2020-03",
            "endDate": "2022-11",
            "url": "https://github.com/linxy/ledger-kit",
            "roles": ["作者", "维护者"],
            "entity": "个人项目",
            "type": "开源库",
        }
    ],
    "education": [
        {
            "institution": "上海交通大学",
            "area": "计算机科学与技术",
            "studyType": "硕士",
            "startDate": "2014-09",
            "endDate": "2017-06",
            "score": "3.8/4.0",
            "courses": ["分布式系统", "数据库内核", "概率论"],
            "url": "https://www.sjtu.edu.cn",
        },
        {
            "institution": "武汉大学",
            "area": "软件工程",
            "studyType": "本科",
            "startDate": "2010-09",
            "endDate": "2014-06",
        },
    ],
    "skills": [
        {"name": "后端开发", "level": "精通", "keywords": ["Go", "Java", "gRPC", "Kafka"]},
        {"name": "数据与存储", "level": "熟练", "keywords": ["MySQL", "TiDB", "Redis", "Flink"]},
        {"name": "工程效能", "keywords": ["Kubernetes", "Prometheus", "混沌工程"]},
    ],
    "languages": [
        {"language": "中文", "fluency": "母语"},
        {"language": "英语", "fluency": "CET-6，可作为工作语言"},
    ],
    "certificates": [
        {
            "name": "CKA 认证 Kubernetes 管理员",
            "date": "2022-05-14",
            "issuer": "CNCF",
            "url": "https://www.cncf.io/certification/cka",
        }
    ],
    "awards": [
        {
            "title": "公司级技术突破奖",
            "date": "2023-01",
            "awarder": "腾讯",
            "summary": "表彰跨境清结算平台重构。",
        }
    ],
    "publications": [
        {
            "name": "高并发账务系统的一致性实践",
            "publisher": "InfoQ 中文站",
            "releaseDate": "2022",
            "url": "https://www.infoq.cn/article/ledger",
            "summary": "介绍账务系统的对账与冲正设计。",
        }
    ],
    "volunteer": [
        {
            "organization": "编程一小时",
            "position": "讲师",
            "url": "https://hourofcode.com/cn",
            "startDate": "2019-10",
            "endDate": "2020-10",
            "summary": "为乡村小学讲授编程启蒙课。",
            "highlights": ["累计授课 40 课时"],
        }
    ],
    "interests": [{"name": "长跑", "keywords": ["上海马拉松", "越野跑"]}],
    "references": [{"name": "王磊（前主管）", "reference": "晓雨总能把复杂的问题讲清楚、做扎实。"}],
    "meta": {"version": 7, "lastModified": "2024-05-01T10:00:00Z"},
}

ENGLISH: JsonObject = {
    "basics": {
        "name": "Eleanor Whitfield",
        "label": "Site Reliability Engineer",
        "image": "https://example.com/eleanor.png",
        "email": "eleanor@whitfield.example",
        "phone": "+44 20 7946 0018",
        "url": "https://whitfield.example/",
        "summary": "Reliability engineer with nine years’ experience of keeping payment and search "
        "platforms up while they grow tenfold. I write small tools that remove whole classes of "
        "incidents, and I teach teams to run what they build.",
        "location": {
            "address": "14 Clerkenwell Green",
            "postalCode": "EC1R 0DP",
            "city": "London",
            "countryCode": "GB",
            "region": "Greater London",
        },
        "profiles": [
            {"network": "GitHub", "username": "ewhit", "url": "https://github.com/ewhit"},
            {"network": "LinkedIn", "username": "Eleanor W.", "url": "https://linkedin.com/in/ew"},
        ],
    },
    "work": [
        {
            "name": "Google",
            "position": "Senior Site Reliability Engineer",
            "location": "London, UK",
            "description": "Search infrastructure.",
            "url": "https://www.google.com/about/careers",
            "startDate": "2019-03",
            "summary": "Tech lead for a serving path with four billion daily queries.",
            "highlights": [
                "Cut the pages per on-call shift from 14 to 2 by replacing threshold alerts with "
                "burn-rate alerts on user-visible objectives",
                "Designed the regional drain tool that is now used for every data-centre exercise; "
                "a full evacuation takes 9 minutes instead of 50",
                "Mentored five engineers, three of whom lead teams today",
            ],
        },
        {
            "name": "Monzo Bank",
            "position": "Platform Engineer",
            "location": "London, UK",
            "startDate": "2015-09",
            "endDate": "2019-02",
            "summary": "Ran the Kubernetes platform under 1,600 services.",
            "highlights": [
                "Migrated the ledger to a new cluster without a second of downtime",
                "Wrote the deployment tool that every engineer in the company uses",
            ],
        },
    ],
    "projects": [
        {
            "name": "slowroll",
            "description": "Progressive delivery for people who dislike YAML.",
            "highlights": ["1,900 stars, 40 contributors", "Used by two national railways"],
            "keywords": ["Go", "Kubernetes", "eBPF"],
            "startDate": "2018-01",
            "endDate": "2021-06",
            "url": "https://github.com/ewhit/slowroll",
            "roles": ["Author", "Maintainer"],
            "entity": "Cloud Native Computing Foundation",
            "type": "open source",
        }
    ],
    "education": [
        {
            "institution": "University of Edinburgh",
            "area": "Computer Science",
            "studyType": "BSc (Hons)",
            "startDate": "2011-09",
            "endDate": "2015-06",
            "score": "First class",
            "courses": ["Operating Systems", "Queueing Theory", "Compilers"],
            "url": "https://www.ed.ac.uk",
        }
    ],
    "skills": [
        {"name": "Reliability", "level": "Expert", "keywords": ["SLOs", "Capacity planning"]},
        {"name": "Programming", "level": "Advanced", "keywords": ["Go", "Python", "C++", "SQL"]},
        {"name": "Platforms", "keywords": ["Kubernetes", "Linux", "Prometheus", "Terraform"]},
    ],
    "languages": [
        {"language": "English", "fluency": "Native speaker"},
        {"language": "German", "fluency": "Fluent (C1)"},
    ],
    "certificates": [
        {
            "name": "Certified Kubernetes Security Specialist",
            "date": "2021-11-07",
            "issuer": "The Linux Foundation",
            "url": "https://www.cncf.io/certification/cks",
        }
    ],
    "awards": [
        {
            "title": "SRE of the Year",
            "date": "2022-10",
            "awarder": "SREcon EMEA",
            "summary": "For work on humane on-call rotations.",
        }
    ],
    "publications": [
        {
            "name": "Alerting on What Hurts",
            "publisher": "O’Reilly Media",
            "releaseDate": "2020",
            "url": "https://www.oreilly.com/library/view/alerting",
            "summary": "A short book on burn rates.",
        }
    ],
    "volunteer": [
        {
            "organization": "Code Club",
            "position": "Volunteer teacher",
            "url": "https://codeclub.org",
            "startDate": "2016-01",
            "endDate": "2018-12",
            "summary": "Taught Scratch and Python at a primary school.",
            "highlights": ["Ran a weekly club for 24 children"],
        }
    ],
    "interests": [{"name": "Rowing", "keywords": ["Coxless pairs", "River Thames"]}],
    "references": [
        {"name": "Priya Raman", "reference": "The calmest person I have ever shared a pager with."}
    ],
    "meta": {"version": 3},
}
